// Requests to the daemon's API, with the token that proves that they come from this page.

const GIVE_UP_MS = 30000; // for what only reads: it can be asked again
let token = "";

class ApiError extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.hint = error.hint ?? "";
    this.clause = error.clause ?? [];
    this.retryAfterMs = error.retry_after_ms ?? 0;
    this.confirm = Boolean(error.confirm); // accepted if the person confirms it
  }
}

async function request(method, path, body) {
  const options = { method, headers: { Accept: "application/json" }, cache: "no-store", credentials: "same-origin" };
  if (method !== "GET") {
    options.headers["Content-Type"] = "application/json";
    options.headers["X-Token"] = token;
    options.body = JSON.stringify(body ?? {});
  }
  let response;
  try {
    if (method === "GET") options.signal = AbortSignal.timeout(GIVE_UP_MS);
    response = await fetch(`/api/v1/${path}`, options);
  } catch {
    throw new ApiError(0, { code: "unreachable", message: "The table's computer is not responding.", hint: "Try again." });
  }
  const data = await response.json().catch(() => ({}));
  if (response.ok) return data;
  throw new ApiError(response.status, data.error ?? { code: "unknown", message: `Unexpected response: status ${response.status}.` });
}

export const get = (path) => request("GET", path);
export const remove = (path, body) => request("DELETE", path, body);

/** Send a change. If the token is from before a restart of the daemon, fetch a new one and try once more. */
export async function post(path, body) {
  try {
    return await request("POST", path, body);
  } catch (error) {
    if (error.code !== "bad_token") throw error;
    useToken((await get("session")).token);
    return request("POST", path, body);
  }
}

export function useToken(text) {
  token = text ?? "";
}

export function query(values) {
  const found = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return new URLSearchParams(found).toString();
}
