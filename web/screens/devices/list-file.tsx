/** All devices that match as CSV, with the columns of the list: read page by page, so that it can be given up. */
import { Download, X } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { getJson } from '../../core/api/json.ts';
import { isAborted } from '../../core/api/error.ts';
import { useAction } from '../../core/api/request.ts';
import { saveFile } from '../../core/clipboard.ts';
import { href, queryText } from '../../core/route.ts';
import { csvField } from '../../core/server/exports.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../../parts/button.tsx';
import { FormFault } from '../../parts/states.tsx';
import { fileValue, titleOf } from './columns.tsx';
import { words as deviceWords } from './text.ts';

/** Devices of one file: the page keeps their lines until it is complete. */
const FILE_ROWS_MAX = 100_000;
const PAGE_ROWS = 1_000;

export interface DevicePageOf {
  readonly managedObjects: readonly ManagedObject[];
  /** There while more may follow. */
  readonly next?: string;
}

export interface DeviceFile {
  /** With CRLF, the names of the columns first. */
  readonly lines: readonly string[];
  /** More devices match than the file has. */
  readonly isCut: boolean;
}

/**
 * @param load one page, from 1. @param columns paths and their titles. @param onCount gets how many were read.
 * @param max devices of the file.
 */
export async function deviceFile(
  load: (page: number) => Promise<DevicePageOf>,
  columns: readonly { readonly path: string; readonly title: string }[],
  onCount: (count: number) => void,
  max = FILE_ROWS_MAX,
): Promise<DeviceFile> {
  const lines = [`${columns.map(({ title }) => csvField(title)).join(',')}\r\n`];
  // While it is read, devices come and go: one that moves to a later page is there once.
  const ids = new Set<string>();
  for (let page = 1; ; page += 1) {
    const { managedObjects, next } = await load(page);
    for (const device of managedObjects) {
      if (ids.has(device.id)) continue;
      if (ids.size === max) return { lines, isCut: true };
      ids.add(device.id);
      lines.push(`${columns.map(({ path }) => csvField(fileValue(device, path))).join(',')}\r\n`);
    }
    onCount(ids.size);
    if (next === undefined) return { lines, isCut: false };
  }
}

/** The query as other lists take it, which do not find devices alone. */
const ofDevices = (query: string): string => query.replace(/^\$filter=/, '$filter=has(c8y_IsDevice) and ');

export interface ListFileProps {
  readonly query: string;
  readonly columns: readonly string[];
}

export function ListFile({ query, columns }: ListFileProps) {
  const words = deviceWords();
  const [count, setCount] = useState(0);
  const [isCut, setCut] = useState(false);
  const control = useRef<AbortController>(undefined);
  useEffect(() => () => control.current?.abort(), []);
  const save = useAction(async () => {
    const { signal } = (control.current = new AbortController());
    setCount(0);
    setCut(false);
    const load = (page: number): Promise<DevicePageOf> =>
      getJson(
        `/inventory/managedObjects${queryText({ q: query, pageSize: PAGE_ROWS, currentPage: page, withChildren: 'false' })}`,
        signal,
      );
    const paths = ['name', ...columns.filter((path) => path !== 'name')];
    const titles = paths.map((path) => ({ path, title: path === 'name' ? words.name : titleOf(path, words) }));
    try {
      const file = await deviceFile(load, titles, setCount);
      saveFile('devices.csv', new Blob([...file.lines], { type: 'text/csv' }));
      setCut(file.isCut);
    } catch (error) {
      // The person has given it up, or left the page.
      if (!isAborted(error)) throw error;
    }
  });
  return (
    <>
      {save.isRunning ? (
        <Button icon={X} onClick={() => control.current?.abort()}>
          {common().cancel}
        </Button>
      ) : (
        <Button icon={Download} onClick={() => void save.run()}>
          {words.exportCsv}
        </Button>
      )}
      <span class="muted small" role="status">
        {save.isRunning && words.exportRead(count)}
        {isCut && (
          <>
            {words.exportCut(FILE_ROWS_MAX)}{' '}
            <a href={href('/data/export', undefined, { kind: 'objects', q: ofDevices(query) })}>{words.exportAll}</a>
          </>
        )}
      </span>
      <FormFault error={save.error} />
    </>
  );
}
