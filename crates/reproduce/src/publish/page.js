"use strict";
// Paper has no way to open what is shut.
addEventListener("beforeprint", () => document.querySelectorAll("details.experiment").forEach((details) => { details.open = true; }));
