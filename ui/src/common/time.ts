/** A moment of the API in milliseconds; none where the API has its zero. */
export function moment(text: string | undefined): number | null {
  const at = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) || at <= 0 ? null : at;
}

/** A length of time as people say it: `45 s`, `3 min 05 s`, `1 h 02 min`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const two = (value: number) => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
}

/** Time of the day in the browser's zone. */
export function clock(text: string): string {
  return new Date(text).toLocaleTimeString([], { hour12: false });
}

/** Bytes with a unit of 1024. */
export function bytes(count: number | undefined): string {
  if (count === undefined) return '';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  const value = count / 1024 ** power;
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}
