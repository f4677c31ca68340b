import { loadMetaDataAndPerformBootstrap } from '@c8y/bootstrap';

// Sends those who have not logged in to /apps/public/login/.
void loadMetaDataAndPerformBootstrap(() => import('./bootstrap'));
