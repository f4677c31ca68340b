/** Scoring: models, jobs by the clock, bindings to measurements. */
import { BrainCircuit, CalendarClock, Link } from 'lucide';
import type { RouteEntry } from '../../core/route.ts';
import { words } from './text.ts';

const READ = ['ROLE_MACHINE_LEARNING_READ', 'ROLE_MACHINE_LEARNING_ADMIN'];

export const scoringRoutes: readonly RouteEntry[] = [
  {
    path: '/scoring',
    title: () => words().models,
    load: () => import('./models.tsx'),
    nav: { section: 'data', order: 50, icon: BrainCircuit },
    roles: READ,
    needs: '/service/scoring/models',
  },
  {
    path: '/scoring/jobs',
    title: () => words().jobs,
    load: () => import('./jobs.tsx'),
    nav: { section: 'data', order: 51, icon: CalendarClock },
    roles: READ,
    needs: '/service/scoring/jobs',
  },
  {
    path: '/scoring/bindings',
    title: () => words().bindings,
    load: () => import('./bindings.tsx'),
    nav: { section: 'data', order: 52, icon: Link },
    roles: READ,
    needs: '/service/scoring/bindings',
  },
  {
    path: '/scoring/models/:name',
    title: () => words().model,
    load: () => import('./model.tsx'),
    roles: READ,
    needs: '/service/scoring/models',
    example: { name: 'oven' },
  },
  {
    path: '/scoring/onnx/:name',
    title: () => words().model,
    load: () => import('./onnx-model.tsx'),
    roles: READ,
    needs: '/service/scoring/onnx/models',
    example: { name: 'digits' },
  },
];
