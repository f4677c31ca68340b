/** Runs before the first paint, so that no page flashes in the wrong colours. Reads what preferences.ts has stored. */
try {
  const { theme, density } = JSON.parse(localStorage.getItem('millrace.preferences') ?? '{}') as Record<string, string>;
  const { dataset } = document.documentElement;
  if (theme === 'light' || theme === 'dark') dataset['theme'] = theme;
  if (density !== undefined) dataset['density'] = density;
} catch {
  // Without storage the colours are those of the system.
}
