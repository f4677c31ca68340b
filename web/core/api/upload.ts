/** Sends a file and says how much of it has gone: `fetch` does not tell. */
import { SERVER_URL } from '../places.ts';
import { ApiError, refusalOf } from './error.ts';
import { askForLogin, sessionHeaders } from './session.ts';

const parsed = (text: string): unknown => {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    // Of a proxy, or not JSON.
    return text;
  }
};

/**
 * @param path of the API with its query. @param onProgress gets the share that has gone, 0 to 1.
 * @returns the answer, parsed where it is JSON. @throws ApiError. A 401 opens the login, and
 * the file is sent again after it.
 */
export function upload(path: string, body: FormData | Blob, onProgress: (share: number) => void): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const url = SERVER_URL + path;
    const told = { method: 'POST', url };
    request.open('POST', url);
    for (const [name, value] of Object.entries(sessionHeaders())) request.setRequestHeader(name, value);
    request.setRequestHeader('Accept', 'application/json, application/xml;q=0.9');
    if (body instanceof Blob) request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.upload.onprogress = ({ lengthComputable, loaded, total }) => lengthComputable && onProgress(loaded / total);
    request.onload = () => {
      const content = parsed(request.responseText);
      if (request.status >= 200 && request.status < 300) resolve(content);
      else if (request.status === 401) void askForLogin().then(() => resolve(upload(path, body, onProgress)));
      else reject(new ApiError(refusalOf(request.status, content, told)));
    };
    request.onerror = () => reject(new ApiError({ status: 0, error: '', message: '', ...told }));
    request.send(body);
  });
}
