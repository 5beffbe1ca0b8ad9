/** A link to the page of the service that says what to do. */
export function WhatToDo({ help }: { help: string }) {
  return (
    <a href={help} target="_blank" rel="noreferrer">
      What to do
    </a>
  );
}
