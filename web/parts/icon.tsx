/** Icons of Lucide: `<Icon icon={Bell} />`. They are decoration: a word or a label stands beside each. */
import type { IconNode } from 'lucide';
import { h } from 'preact';

export function Icon({ icon }: { readonly icon: IconNode }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {icon.map(([tag, attributes], index) => h(tag, { key: String(index), ...attributes }))}
    </svg>
  );
}
