/**
 * Speaks to the server: JSON over `fetch`, failures as `ApiError`, and one place that hears of a lost
 * session.
 * @module
 */

/** A failure that the server reports, or `offline` where no answer came. */
export class ApiError extends Error {
  /**
   * @param {string} code  a code of Interface.md, or `offline`
   * @param {number} status  the status of HTTP, 0 without an answer
   * @param {Record<string, any>} [body]
   */
  constructor(code, status, body = {}) {
    super(code);
    this.code = code;
    this.status = status;
    this.body = body;
  }
}

/** @type {() => void} */
let sessionLost = () => {};

/**
 * Sets what happens when the server no longer knows the session.
 * @param {() => void} action
 */
export function onSessionLost(action) {
  sessionLost = action;
}

/** Header of every request of the page; other sites cannot set it. */
export const ownHeaders = { "X-Albumfs": "1" };

/**
 * Sends a request; returns the response if it is a success.
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
export async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {
      ...options,
      cache: "no-store",
      credentials: "same-origin",
      headers: { ...ownHeaders, ...options.headers },
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError("offline", 0);
  }
  if (response.ok) return response;
  throw failure(response.status, await response.json().catch(() => ({})));
}

/**
 * Makes an error of a failed response, and reports a lost session.
 * @param {number} status
 * @param {Record<string, any>} body
 */
export function failure(status, body) {
  if (status === 401) sessionLost();
  return new ApiError(typeof body.error === "string" ? body.error : "failed", status, body);
}

/**
 * Gets JSON.
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, signal) {
  const response = await request(path, signal ? { signal } : {});
  return await readBody(response, "json");
}

/**
 * Posts JSON and returns JSON.
 * @param {string} path
 * @param {object} [body]
 * @param {RequestInit} [options]
 * @returns {Promise<any>}
 */
export async function post(path, body = {}, options = {}) {
  const headers = { "Content-Type": "application/json" };
  const response = await request(path, { method: "POST", body: JSON.stringify(body), headers, ...options });
  return await readBody(response, "json");
}

/**
 * Gets bytes as a blob, which knows its type.
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Blob>}
 */
export async function getBlob(path, signal) {
  return await readBody(await request(path, signal ? { signal } : {}), "blob");
}

/**
 * Reads a body; a connection that breaks on the way counts as offline.
 * @param {Response} response
 * @param {"json" | "blob"} kind
 */
async function readBody(response, kind) {
  try {
    return await response[kind]();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError("offline", 0);
  }
}

/**
 * True where the page itself ended a request.
 * @param {unknown} error
 */
export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * Returns the code of any failure, for the table of texts.
 * @param {unknown} error
 */
export function codeOf(error) {
  return error instanceof ApiError ? error.code : "failed";
}
