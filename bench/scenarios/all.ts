/** The suite in the order in which it runs. */
import type { Scenario } from '../scenario.ts';
import { bindings } from './bindings.ts';
import { cluster } from './cluster.ts';
import { consoleLive } from './console-live.ts';
import { console } from './console.ts';
import { devices } from './devices.ts';
import { entities } from './entities.ts';
import { handOver } from './hand-over.ts';
import { idleConnections, newConnections } from './connections.ts';
import { customTemplates } from './custom-templates.ts';
import { httpOne, httpThousand } from './http-rates.ts';
import { acknowledgement, liveAndVisible } from './latencies.ts';
import { qos0, qos1Few, qos1Many, qos1Most, soak } from './mqtt-rates.ts';
import { lists } from './lists.ts';
import { onnx } from './onnx.ts';
import { passwordFlood } from './password-flood.ts';
import { pmmlForest, pmmlUpload } from './pmml-forests.ts';
import { pmmlApply, pmmlWorkers } from './pmml-server.ts';
import { pmml } from './pmml.ts';
import { queries } from './queries.ts';
import { recent } from './recent.ts';
import { restart } from './restart.ts';
import { scoringJob } from './scoring-job.ts';
import { topics } from './topics.ts';

export const SCENARIOS: readonly Scenario[] = [
  qos1Few,
  qos1Many,
  qos1Most,
  customTemplates,
  qos0,
  httpOne,
  httpThousand,
  acknowledgement,
  liveAndVisible,
  idleConnections,
  newConnections,
  queries,
  recent,
  restart,
  soak,
  cluster,
  handOver,
  lists,
  bindings,
  onnx,
  passwordFlood,
  topics,
  console,
  consoleLive,
  devices,
  entities,
  pmmlForest,
  pmmlUpload,
  pmml,
  scoringJob,
  pmmlWorkers,
  pmmlApply,
];
