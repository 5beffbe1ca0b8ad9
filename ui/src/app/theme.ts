const KEY = 'assisted-theme';
const DARK = 'pf-v6-theme-dark';

/** Whether the UI is dark: as it was chosen here, else as the system is. */
export function isDark(): boolean {
  const chosen = localStorage.getItem(KEY);
  return chosen ? chosen === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
}

/** Puts the theme on the page. */
export function applyTheme() {
  document.documentElement.classList.toggle(DARK, isDark());
}

/** Changes the theme, and keeps the choice. */
export function toggleTheme() {
  localStorage.setItem(KEY, isDark() ? 'light' : 'dark');
  applyTheme();
}
