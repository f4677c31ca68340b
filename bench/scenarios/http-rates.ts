/** How many measurements a second are answered and stored over HTTP. */
import type { Scenario } from '../scenario.ts';
import type { Subject, SubjectName } from '../subjects/subject.ts';
import { compare, LOAD_COLUMNS } from './rounds.ts';

/** Devices that the measurements belong to, in turn. */
const SOURCES = 16;
/** For peers, which do not look at them. */
const ANY_SOURCES = Array.from({ length: SOURCES }, (_, index) => String(1000 + index));

interface HttpShape {
  name: string;
  question: string;
  connections: number;
  measurementsPerBody: number;
  subjects: readonly SubjectName[];
}

function http(shape: HttpShape): Scenario {
  const { name, question, connections, measurementsPerBody } = shape;
  return {
    name,
    standard: true,
    columns: LOAD_COLUMNS,
    question,
    run: (context) => {
      const sources = new Map<string, string[]>();
      return compare(context, {
        scenario: name,
        subjects: shape.subjects,
        prepare: async (subject) => {
          sources.set(subject.name, await makeSources(subject, SOURCES));
        },
        job: (subject) => ({
          kind: 'http-closed',
          target: subject.http,
          connections,
          measurementsPerBody,
          sources: sources.get(subject.name)!,
          firstTimeMs: Date.now(),
          stepMs: 1,
          pids: subject.pids(),
          warmUpMs: context.options.warmUpMs,
          measureMs: context.options.measureMs,
        }),
      });
    },
  };
}

/** @returns the ids of `count` new devices, or any ids for a peer. */
export async function makeSources(subject: Subject, count: number): Promise<string[]> {
  if (subject.createDevice === undefined) return ANY_SOURCES;
  const sources: string[] = [];
  for (let index = 0; index < count; index++) sources.push(await subject.createDevice(`bench http ${index}`));
  return sources;
}

export const httpOne = http({
  name: 'http-one',
  connections: 512,
  measurementsPerBody: 1,
  subjects: ['millrace', 'bare-uws', 'fastify'],
  question: 'POST of one measurement over 512 keep-alive connections: answered and stored a second',
});

export const httpThousand = http({
  name: 'http-1000',
  connections: 16,
  measurementsPerBody: 1_000,
  subjects: ['millrace', 'bare-uws'],
  question: 'POST of 1,000 measurements in one body over 16 connections: measurements answered and stored a second',
});
