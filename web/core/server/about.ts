/** What the server says of itself: where devices reach it. */
import { ApiError } from '../api/error.ts';
import { sendRaw } from '../api/send.ts';

export interface About {
  readonly version: string;
  readonly shape?: 'single-node' | 'cluster';
  /** Where devices reach the ports. */
  readonly host: string;
  readonly ports: {
    readonly http?: number;
    readonly https?: number;
    readonly mqtt?: number;
    readonly mqttTls?: number;
  };
  readonly tenant: { readonly id: string };
  readonly hasDevices?: boolean;
}

/** @returns undefined of a server that does not say it. @throws ApiError. */
export async function readAbout(signal?: AbortSignal): Promise<About | undefined> {
  try {
    return (await (await sendRaw('/millrace/about', signal === undefined ? {} : { signal })).json()) as About;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
