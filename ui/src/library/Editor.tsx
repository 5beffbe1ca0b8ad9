interface EditorProps {
  value?: string;
  height?: string | number;
  onChange?: (value: string | undefined) => void;
  options?: { readOnly?: boolean; ariaLabel?: string };
}

/** Stands in for the editor that the library names, which would be fetched from another origin. */
export default function Editor({ value, height, onChange, options }: EditorProps) {
  return (
    <textarea
      className="pf-v6-c-form-control pf-v6-u-font-family-monospace"
      aria-label={options?.ariaLabel ?? 'Text'}
      spellCheck={false}
      rows={16}
      style={{ width: '100%', height, whiteSpace: 'pre', overflow: 'auto' }}
      readOnly={options?.readOnly}
      value={value ?? ''}
      onChange={(event) => onChange?.(event.target.value)}
    />
  );
}
