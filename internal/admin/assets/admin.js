// The page shows what the server renders, counts down, and sends changes.
const $ = (id) => document.getElementById(id);
const csrf = document.querySelector("meta[name=csrf]").content;

// Live parts. A part is replaced as a whole; the focused element keeps the focus.
const feed = new EventSource("/admin/live");
for (const part of ["health", "pools", "plots", "requests"]) {
	feed.addEventListener(part, (event) => {
		const place = document.querySelector(`[data-part="${part}"]`);
		const html = JSON.parse(event.data);
		if (place.shown === html) return;
		place.shown = html;
		const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
		place.innerHTML = html;
		if (focused) $(focused)?.focus();
		countDown();
	});
}
feed.addEventListener("open", () => alive(true, "live"));
feed.addEventListener("error", () => alive(false, "disconnected, reconnecting"));
feed.addEventListener("over", () => location.assign("/admin/login"));

function alive(on, text) {
	if ($("live").textContent === text) return;
	$("live").classList.toggle("on", on);
	$("live").textContent = text;
}

// Times are on shunt's clock, which is faster than the browser's in the demo.
const [began, speed] = document.querySelector("meta[name=clock]").content.split(" ").map(Number);

function countDown() {
	const now = (began + performance.now() * speed) / 1000;
	for (const time of document.querySelectorAll("[data-until]")) {
		const left = Math.round(time.dataset.until - now);
		time.textContent = left > 0 ? (time.dataset.before ?? "") + inWords(left) : "";
		time.dateTime = new Date(time.dataset.until * 1000).toISOString();
	}
}
setInterval(countDown, 1000);
countDown();

function inWords(seconds) {
	const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
	const first = units.findIndex(([size]) => seconds >= size);
	return units.slice(first, first + 2).map(([size, name]) => {
		const n = Math.floor(seconds / size);
		seconds -= n * size;
		return n + name;
	}).join(" ");
}

async function send(method, path, body) {
	const response = await fetch("/admin/api/" + path, {
		method,
		headers: { "x-csrf-token": csrf, ...(body && { "content-type": "application/json" }) },
		body: body && JSON.stringify(body),
	});
	if (response.status === 401) location.assign("/admin/login");
	const text = await response.text();
	const value = text ? JSON.parse(text) : {};
	if (!response.ok) throw new Error(value.error?.message ?? response.statusText);
	return value;
}

function confirmed(text) {
	$("confirming-text").textContent = text;
	$("confirming").returnValue = "no";
	$("confirming").showModal();
	return new Promise((done) => {
		$("confirming").addEventListener("close", () => done($("confirming").returnValue === "yes"), { once: true });
	});
}

const acts = {
	pause: (d) => send("PATCH", accountPath(d), { paused: true }),
	resume: (d) => send("PATCH", accountPath(d), { paused: false }),
	clear: async (d) => (await confirmed(`Clear the cooldown of ${d.name} now?`)) && send("DELETE", accountPath(d) + "/cooldown"),
	remove: async (d) => (await confirmed(`Remove ${d.name} from the account store? Its login is deleted.`)) && send("DELETE", entryPath(d.family, d.name)),
	explain: (d) => explain(d.provider, ""),
	why: (d) => explain(d.provider, "?request=" + encodeURIComponent(d.request)),
};

const entryPath = (family, name) => `accounts/${encodeURIComponent(family)}/${encodeURIComponent(name)}`;
const accountPath = (d) => `pool/${encodeURIComponent(d.provider)}/accounts/${encodeURIComponent(d.ref)}`;

document.addEventListener("click", async (event) => {
	const button = event.target.closest("[data-act]");
	if (!button) return;
	const data = { ...button.closest("[data-provider]").dataset };
	try {
		await acts[button.dataset.act](data);
	} catch (problem) {
		alive(false, problem.message);
	}
});

const sentences = {
	group: {
		free: "is available", near_quota: "is near its limit", over_hard: "is over its hard limit", needs_login: "needs a login", out: "is not used",
	},
	reason: {
		sticky: "is the session's account", round_robin: "is next in turn", last_served: "last served the session",
		disabled: "is disabled", paused: "is paused", capped: "is capped",
	},
	behind: {
		advisor: "The account before it has quota left for the model of a tool.",
		group: "The account before it is in a better state.",
		own: "The account before it is the session's own.",
		recovery: "The account before it recovers sooner.",
		fault: "The account before it cools down because of a fault of the service.",
		credential: "Its credential was rejected, so it comes last.",
		priority: "The account before it has a higher priority.",
		headroom: "The account before it has more headroom.",
		weekly_reset: "The longest window of the account before it resets sooner.",
		tie: "It is tied with the account before it.",
	},
};
const causes = JSON.parse($("explanation").dataset.causes);
const windowTitles = JSON.parse($("explanation").dataset.windows);
const percent = (fraction) => Math.round(100 * fraction) + " %";

async function explain(provider, query) {
	const e = await send("GET", `pool/${encodeURIComponent(provider)}/explain${query}`);
	$("explanation-about").textContent = [
		e.model && `Model: ${e.model}.`,
		e.preferred && `Preferred account: ${e.preferred}.`,
		e.last_served && `${e.last_served} last served this session.`,
		"The order now:",
	].filter(Boolean).join(" ");
	$("explanation-list").replaceChildren(...e.candidates.map((c) => {
		const item = document.createElement("li");
		const name = document.createElement("strong");
		name.textContent = c.name;
		item.append(name, " " + described(c));
		return item;
	}));
	$("explanation").showModal();
}

// described says in sentences why a candidate has its place.
function described(c) {
	const state = c.group === "cooled"
		? `is cooling down for ${inWords(c.cooldown_secs_remaining)} (${causes[c.cooldown_cause] ?? c.cooldown_cause})`
		: sentences.group[c.group];
	const reason = sentences.reason[c.reason];
	const plain = c.group === "free" || c.group === "out";
	const windows = c.windows.filter((w) => w.governs && w.utilization !== null)
		.map((w) => `its ${windowTitles[w.window] ?? w.window} is at ${percent(w.utilization)} (threshold ${percent(w.threshold)})`).join(", ");
	const headroom = c.headroom_secs !== null && (c.headroom_secs < 0 ? "-" : "") + (inWords(Math.abs(Math.round(c.headroom_secs))) || "0s");
	return [
		(!reason ? state : plain ? reason : `${state} and ${reason}`) + ".",
		sentences.behind[c.behind],
		windows && windows[0].toUpperCase() + windows.slice(1) + ".",
		`Priority ${c.priority}` + (headroom ? `, headroom ${headroom}.` : "."),
		c.ramp_denied && "It is ramping up and accepts no more requests now.",
	].filter(Boolean).join(" ");
}

// Adding an account: enter a name, approve the login on the provider's page, and paste the code that it shows or type the one that
// shunt shows.
let adding = ""; // the path of its entry in the account store
$("add").addEventListener("click", () => {
	$("adding-name").hidden = false;
	$("adding-code").hidden = true;
	$("adding-device").hidden = true;
	$("adding-problem").textContent = "";
	$("adding-name").reset();
	$("adding-code").reset();
	$("adding").showModal();
});
submitted("adding-name", async (form) => {
	const { family } = $("adding-name").elements.mode.selectedOptions[0].dataset;
	const login = await send("POST", `accounts/${family}`, { name: form.get("name"), mode: form.get("mode") });
	adding = entryPath(family, login.name);
	if (login.user_code) {
		await enterCode(login);
		return;
	}
	$("adding-link").href = login.authorize_url;
	$("adding-name").hidden = true;
	$("adding-code").hidden = false;
	$("adding-link").focus();
});
submitted("adding-code", async (form) => {
	await send("POST", adding + "/complete", { code: form.get("code") });
	$("adding").close();
});

// enterCode shows a code until the person has entered it on the provider's page, or the dialog is closed.
async function enterCode(login) {
	const path = adding + "/device";
	$("device-link").href = login.page;
	$("device-code").textContent = login.user_code;
	$("adding-name").hidden = true;
	$("adding-device").hidden = false;
	$("device-link").focus();
	for (;;) {
		const left = Math.max(0, Math.round(login.expires - Date.now() / 1000));
		$("device-left").textContent = `Waiting: ${inWords(left) || "0s"} left.`;
		await new Promise((resume) => setTimeout(resume, 1500));
		if (!$("adding").open) {
			await send("DELETE", path).catch(() => {});
			return;
		}
		const state = await send("GET", path);
		if (state.status === "failed") {
			$("adding-device").hidden = true;
			throw new Error(state.problem);
		}
		if (state.status === "stored") {
			$("adding").close();
			return;
		}
	}
}

function submitted(id, act) {
	$(id).addEventListener("submit", async (event) => {
		event.preventDefault();
		$("adding-problem").textContent = "";
		try {
			await act(new FormData($(id)));
		} catch (problem) {
			$("adding-problem").textContent = problem.message;
		}
	});
}

$("logout").addEventListener("click", async () => {
	await send("POST", "logout");
	location.assign("/admin/login");
});
