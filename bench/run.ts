/** Runs scenarios one after the other, each with fresh servers, and keeps what they record. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Options } from './options.ts';
import type { Context, Sample, Scenario, StartOptions } from './scenario.ts';
import { startCluster } from './subjects/cluster.ts';
import { Millrace } from './subjects/millrace.ts';
import { startMosquitto, startNodePeer } from './subjects/peers.ts';
import { isOurs, type Subject, type SubjectName } from './subjects/subject.ts';

export interface RunRecord {
  samples: Sample[];
  notes: string[];
}

/** Called after each scenario: with all samples so far, or with the reason why it failed. */
export interface RunHooks {
  finished(scenario: Scenario, samples: readonly Sample[]): void;
  failed(scenario: Scenario, error: Error): void;
  progress(text: string): void;
}

/**
 * @param resultFile gets a JSON line for each sample as soon as it is known. A failed scenario does not stop the
 * others.
 */
export async function runScenarios(
  scenarios: readonly Scenario[],
  options: Options,
  resultFile: string,
  hooks: RunHooks,
): Promise<RunRecord> {
  const record: RunRecord = { samples: [], notes: [] };
  const root = mkdtempSync(join(options.dataRoot, 'millrace-bench-'));
  process.on('exit', () => rmSync(root, { recursive: true, force: true }));
  for (const scenario of scenarios) {
    const started: Subject[] = [];
    let number = 0;
    const context: Context = {
      options,
      rounds: options.rounds,
      samples: record.samples,
      start: async (name, own) => {
        const directory = join(root, `${scenario.name}-${++number}`);
        mkdirSync(directory, { recursive: true });
        const subject = await startSubject(name, directory, options, own);
        started.push(subject);
        return subject;
      },
      chosen: (names) => choose(names, options),
      record: (sample) => {
        record.samples.push(sample);
        appendFileSync(resultFile, `${JSON.stringify(sample)}\n`);
      },
      note: (text) => void record.notes.push(text),
      progress: hooks.progress,
    };
    try {
      await scenario.run(context);
      hooks.finished(scenario, record.samples);
    } catch (error) {
      record.notes.push(`${scenario.name} failed: ${(error as Error).message}`);
      hooks.failed(scenario, error as Error);
    } finally {
      for (const subject of started) await subject.stop();
      for (let index = 1; index <= number; index++)
        rmSync(join(root, `${scenario.name}-${index}`), { recursive: true, force: true });
    }
  }
  return record;
}

function choose(names: readonly SubjectName[], options: Options): SubjectName[] {
  if (options.noPeers) return names.filter(isOurs);
  return options.peersOnly ? names.filter((name) => !isOurs(name)) : [...names];
}

function startSubject(
  name: SubjectName,
  directory: string,
  options: Options,
  own: StartOptions = {},
): Promise<Subject> {
  if (name === 'millrace') {
    const { cores: core, environment = {} } = own;
    return Millrace.start({ directory, core, environment, engineCore: options.engineCore, entry: options.server });
  }
  if (name === 'millrace-distributed')
    return startCluster(name, 1, { directory, engineCore: undefined, entry: options.server });
  if (name === 'millrace-3') return startCluster(name, 3, { directory, engineCore: undefined, entry: options.server });
  return name.startsWith('mosquitto') ? startMosquitto(name, directory) : startNodePeer(name, directory);
}
