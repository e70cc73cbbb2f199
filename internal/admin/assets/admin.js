// The page's behaviour: it shows what the server renders, counts down, and asks for changes.
const $ = (id) => document.getElementById(id);
const csrf = document.querySelector("meta[name=csrf]").content;

// Live parts. A part is replaced as a whole; whoever had the focus keeps it.
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
feed.addEventListener("error", () => alive(false, "not connected, trying again"));
feed.addEventListener("over", () => location.assign("/admin/login"));

function alive(on, text) {
	if ($("live").textContent === text) return;
	$("live").classList.toggle("on", on);
	$("live").textContent = text;
}

// Times are those of shunt's clock, which runs faster than the browser's in the demo.
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

async function ask(method, path, body) {
	const answer = await fetch("/admin/api/" + path, {
		method,
		headers: { "x-csrf-token": csrf, ...(body && { "content-type": "application/json" }) },
		body: body && JSON.stringify(body),
	});
	if (answer.status === 401) location.assign("/admin/login");
	const text = await answer.text();
	const value = text ? JSON.parse(text) : {};
	if (!answer.ok) throw new Error(value.error?.message ?? answer.statusText);
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
	pause: (d) => ask("PATCH", accountPath(d), { paused: true }),
	resume: (d) => ask("PATCH", accountPath(d), { paused: false }),
	clear: async (d) => (await confirmed(`Clear the cooldown of ${d.name} now?`)) && ask("DELETE", accountPath(d) + "/cooldown"),
	remove: async (d) => (await confirmed(`Remove ${d.name} from the account store? Its login is deleted.`)) && ask("DELETE", "accounts/claude/" + encodeURIComponent(d.name)),
	explain: (d) => explain(d.provider, ""),
	why: (d) => explain(d.provider, "?request=" + encodeURIComponent(d.request)),
};

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

async function explain(provider, query) {
	const e = await ask("GET", `pool/${encodeURIComponent(provider)}/explain${query}`);
	$("explanation-about").textContent = [
		e.model && `Model ${e.model}.`,
		e.preferred && `If all were well it would go to ${e.preferred}.`,
		e.last_served && `${e.last_served} last served this session.`,
		"The order at this moment:",
	].filter(Boolean).join(" ");
	$("explanation-list").replaceChildren(...e.candidates.map((c) => {
		const item = document.createElement("li");
		const name = document.createElement("strong");
		name.textContent = c.name;
		const windows = c.windows.filter((w) => w.governs && w.utilization !== null)
			.map((w) => `${w.window} ${Math.round(100 * w.utilization)} % of ${Math.round(100 * w.threshold)} %`);
		const words = [
			spoken(c.group), c.reason && spoken(c.reason), c.behind && (c.behind === "lead" ? "" : "behind by " + spoken(c.behind)), `priority ${c.priority}`, ...windows,
			c.headroom_secs !== null && "headroom " + (c.headroom_secs < 0 ? "-" : "") + (inWords(Math.abs(Math.round(c.headroom_secs))) || "0s"),
			c.cooldown_secs_remaining > 0 && `cooling ${inWords(c.cooldown_secs_remaining)} (${spoken(c.cooldown_cause)})`,
			c.ramp_denied && "its ramp admits no more at this moment",
		].filter(Boolean).join(", ");
		item.append(name, ": " + words);
		return item;
	}));
	$("explanation").showModal();
}

const spoken = (s) => s.replaceAll("_", " ");

// Adding an account: name it, allow it on the provider's page, paste the code.
let adding = "";
$("add").addEventListener("click", () => {
	$("adding-name").hidden = false;
	$("adding-code").hidden = true;
	$("adding-problem").textContent = "";
	$("adding-name").reset();
	$("adding-code").reset();
	$("adding").showModal();
});
submitted("adding-name", async (form) => {
	const login = await ask("POST", "accounts/claude", { name: form.get("name"), mode: form.get("mode") });
	adding = login.name;
	$("adding-link").href = login.authorize_url;
	$("adding-name").hidden = true;
	$("adding-code").hidden = false;
	$("adding-link").focus();
});
submitted("adding-code", async (form) => {
	await ask("POST", `accounts/claude/${encodeURIComponent(adding)}/complete`, { code: form.get("code") });
	$("adding").close();
});

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
	await ask("POST", "logout");
	location.assign("/admin/login");
});
