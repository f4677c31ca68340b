/** A tree that loads level by level, 100 at a time, after the tree pattern of the ARIA practices. */
import { ChevronDown, ChevronRight } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { isAborted } from '../core/api/error.ts';
import { notify } from '../core/notices.ts';
import { PAGE_SIZE } from '../core/server/managed-object.ts';
import { common } from '../core/text/common.ts';
import { Icon } from './icon.tsx';

export interface TreeNode {
  readonly id: string;
  readonly name: string;
  readonly href: string;
  readonly canOpen: boolean;
}

export interface ObjectTreeProps {
  readonly label: string;
  readonly roots: readonly TreeNode[];
  /** One page of what is below a node; `page` begins at 1. */
  readonly load: (node: TreeNode, page: number, signal: AbortSignal) => Promise<readonly TreeNode[]>;
  /** The id of what the page shows. */
  readonly current?: string;
  /** Another value forgets what was loaded. */
  readonly version?: unknown;
}

interface Level {
  readonly rows: readonly TreeNode[];
  readonly page: number;
}

interface Line {
  /** Ids from the root on: an object may be below several. */
  readonly key: string;
  readonly level: number;
  readonly node: TreeNode;
  /** In the place of a node: more of the ones above it. */
  readonly isMore: boolean;
}

export function ObjectTree({ label, roots, load, current, version }: ObjectTreeProps) {
  const [open, setOpen] = useState<ReadonlyMap<string, Level>>(new Map());
  const [focused, setFocused] = useState<string>();
  const box = useRef<HTMLUListElement>(null);
  const control = useRef<AbortController>(new AbortController());
  const { route } = useLocation();
  useEffect(() => {
    setOpen(new Map());
    control.current = new AbortController();
    return () => control.current.abort();
  }, [version]);

  const more = async (key: string, node: TreeNode): Promise<void> => {
    const before = open.get(key);
    const page = (before?.page ?? 0) + 1;
    try {
      const rows = await load(node, page, control.current.signal);
      setOpen((all) => new Map(all).set(key, { rows: [...(before?.rows ?? []), ...rows], page }));
    } catch (error) {
      if (!isAborted(error)) notify(error instanceof Error ? error.message : String(error), { kind: 'fault' });
    }
  };
  const close = (key: string): void =>
    setOpen((all) => new Map([...all].filter(([one]) => one !== key && !one.startsWith(`${key}/`))));
  const lines: Line[] = [];
  const collect = (nodes: readonly TreeNode[], above: string, level: number): void => {
    for (const node of nodes) {
      const key = above === '' ? node.id : `${above}/${node.id}`;
      lines.push({ key, level, node, isMore: false });
      const below = open.get(key);
      if (below === undefined) continue;
      collect(below.rows, key, level + 1);
      if (below.rows.length === below.page * PAGE_SIZE)
        lines.push({ key: `${key}/…`, level: level + 1, node, isMore: true });
    }
  };
  collect(roots, '', 1);
  const first = focused !== undefined && lines.some(({ key }) => key === focused) ? focused : lines[0]?.key;
  const go = (index: number): void => {
    const line = lines[Math.min(Math.max(index, 0), lines.length - 1)];
    setFocused(line.key);
    box.current?.querySelectorAll<HTMLElement>('[role=treeitem]')[lines.indexOf(line)]?.focus();
  };
  const choose = ({ key, node, isMore }: Line): void => {
    if (isMore) void more(key.slice(0, -2), node);
    else route(node.href);
  };
  const onKey = (event: KeyboardEvent): void => {
    const index = lines.findIndex(({ key }) => key === first);
    if (index < 0) return;
    const line = lines[index];
    const isOpen = open.has(line.key);
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(index + 1),
      ArrowUp: () => go(index - 1),
      Home: () => go(0),
      End: () => go(lines.length - 1),
      ArrowRight: () => {
        if (isOpen) go(index + 1);
        else if (line.node.canOpen && !line.isMore) void more(line.key, line.node);
      },
      ArrowLeft: () => {
        if (isOpen) close(line.key);
        else go(lines.findLastIndex((one, at) => at < index && one.level < line.level));
      },
      Enter: () => choose(line),
      ' ': () => choose(line),
    };
    if (steps[event.key] === undefined) return;
    event.preventDefault();
    steps[event.key]();
  };
  return (
    <ul class="tree" role="tree" aria-label={label} ref={box} onKeyDown={onKey}>
      {lines.map((line) => {
        const { key, level, node, isMore } = line;
        const isOpen = open.has(key);
        const canOpen = node.canOpen && !isMore;
        return (
          <li
            key={key}
            role="treeitem"
            aria-level={level}
            aria-expanded={canOpen ? isOpen : undefined}
            aria-selected={!isMore && node.id === current}
            tabIndex={key === first ? 0 : -1}
            class="tree-item"
            style={{ paddingInlineStart: `${level - 1}rem` }}
            onFocus={() => setFocused(key)}
            onClick={() => choose(line)}
          >
            <span
              class="tree-mark"
              aria-hidden="true"
              onClick={(event) => {
                event.stopPropagation();
                if (!canOpen) return;
                if (isOpen) close(key);
                else void more(key, node);
              }}
            >
              {canOpen && <Icon icon={isOpen ? ChevronDown : ChevronRight} />}
            </span>
            <span class="tree-name">{isMore ? common().next : node.name}</span>
          </li>
        );
      })}
    </ul>
  );
}
