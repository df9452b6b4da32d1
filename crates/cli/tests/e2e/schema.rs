//! The form of all JSON: the committed schema is that of the program, and real output has it.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::e2e::network::scenario;
use crate::e2e::program::{Program, run, tfrc};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn said(args: &[&str]) -> String {
    let finished = run(args);
    assert!(finished.status.success(), "{args:?}: {}", finished.stderr);
    finished.text().to_owned()
}

/// `tfrc schema > docs/json.schema.json` writes it.
#[test]
fn the_committed_schema_is_that_of_the_program() {
    let read = |name: &str| std::fs::read_to_string(docs(name)).expect(name);
    assert!(read("json.schema.json") == said(&["schema"]), "run `tfrc schema > docs/json.schema.json`");
    let keys = said(&["schema", "--keys"]);
    assert!(["### SummaryDocument", "`goodput_bps`"].iter().all(|part| keys.contains(part)), "{keys}");
}

/// A schema of the draft's words that the program uses, and no others.
struct Schema {
    root: Value,
}

impl Schema {
    fn committed() -> Self {
        let text = std::fs::read_to_string(docs("json.schema.json")).expect("the schema");
        Self { root: serde_json::from_str(&text).expect("JSON") }
    }

    /// The first difference of a document of a command from its schema.
    fn check(&self, command: &str, option: &str, document: &Value) {
        let schema = &self.root["commands"][command][option];
        assert!(schema.is_object(), "{command} {option}");
        if let Err(why) =
            self.fits(schema, document, command).and_then(|()| self.known(schema, document, command))
        {
            panic!("{why} in {document}");
        }
    }

    fn resolved<'s>(&'s self, reference: &str) -> &'s Value {
        let pointer = reference.strip_prefix('#').expect("a reference inside");
        self.root.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"))
    }

    fn fits(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        if schema == &Value::Bool(true) {
            return Ok(());
        }
        for (word, says) in schema.as_object().expect("a schema") {
            match word.as_str() {
                "$ref" => self.fits(self.resolved(says.as_str().expect("text")), value, at)?,
                "type" => {
                    let fits = |one: &Value| match one.as_str() {
                        Some("null") => value.is_null(),
                        Some("boolean") => value.is_boolean(),
                        Some("integer") => value.is_u64() || value.is_i64(),
                        Some("number") => value.is_number(),
                        Some("string") => value.is_string(),
                        Some("array") => value.is_array(),
                        Some("object") => value.is_object(),
                        other => panic!("type {other:?}"),
                    };
                    let any = says.as_array().map_or_else(|| fits(says), |all| all.iter().any(fits));
                    if !any {
                        return Err(format!("{at} is not {says}"));
                    }
                }
                "const" if says != value => return Err(format!("{at} is not {says}")),
                "enum" if !says.as_array().expect("a list").contains(value) => {
                    return Err(format!("{at} is none of {says}"));
                }
                "required" if value.is_object() => {
                    for key in says.as_array().expect("a list").iter().filter_map(Value::as_str) {
                        value.get(key).ok_or_else(|| format!("{at} has no {key}"))?;
                    }
                }
                "properties" => {
                    for (key, schema) in says.as_object().expect("properties") {
                        if let Some(inner) = value.get(key) {
                            self.fits(schema, inner, &format!("{at}.{key}"))?;
                        }
                    }
                }
                "additionalProperties" => {
                    let named = |key: &str| schema["properties"].get(key).is_some();
                    for (key, inner) in value.as_object().into_iter().flatten().filter(|(key, _)| !named(key))
                    {
                        self.fits(says, inner, &format!("{at}.{key}"))?;
                    }
                }
                "items" => {
                    for (place, inner) in value.as_array().into_iter().flatten().enumerate() {
                        self.fits(says, inner, &format!("{at}[{place}]"))?;
                    }
                }
                "prefixItems" => {
                    for (schema, inner) in
                        says.as_array().expect("a list").iter().zip(value.as_array().into_iter().flatten())
                    {
                        self.fits(schema, inner, at)?;
                    }
                }
                "allOf" => {
                    says.as_array().expect("a list").iter().try_for_each(|one| self.fits(one, value, at))?;
                }
                "anyOf" | "oneOf" => {
                    let outcomes: Vec<_> = says
                        .as_array()
                        .expect("a list")
                        .iter()
                        .map(|one| self.fits(one, value, at))
                        .collect();
                    if outcomes.iter().all(Result::is_err) {
                        return Err(format!("{at}: {outcomes:?}"));
                    }
                }
                "const" | "enum" | "required" | "title" | "description" | "format" | "minimum"
                | "maximum" | "minItems" | "maxItems" | "default" => {}
                other => panic!("the test does not know the word `{other}`"),
            }
        }
        Ok(())
    }

    /// Every key of every object is one that the schema has.
    fn known(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        match value {
            Value::Object(entries) => {
                let mut found = Vec::new();
                self.objects(schema, &mut found);
                let open = found.iter().find_map(|one| one.get("additionalProperties"));
                for (key, inner) in entries {
                    let place = format!("{at}.{key}");
                    let named: Vec<&Value> =
                        found.iter().filter_map(|one| one["properties"].get(key)).chain(open).collect();
                    if named.is_empty() {
                        return Err(format!("{place} is not in the schema"));
                    }
                    let known = |one: &&Value| {
                        self.fits(one, inner, &place).and_then(|()| self.known(one, inner, &place))
                    };
                    if let Some(Err(why)) = named.iter().map(known).reduce(Result::or) {
                        return Err(why);
                    }
                }
                Ok(())
            }
            Value::Array(list) => {
                let mut found = Vec::new();
                self.objects(schema, &mut found);
                let items: Vec<&Value> = found.iter().filter_map(|one| one.get("items")).collect();
                list.iter().try_for_each(|inner| {
                    items.iter().map(|one| self.known(one, inner, at)).reduce(Result::or).unwrap_or(Ok(()))
                })
            }
            _ => Ok(()),
        }
    }

    /// A schema and all that it is made of.
    fn objects<'s>(&'s self, schema: &'s Value, found: &mut Vec<&'s Value>) {
        found.push(schema);
        if let Some(reference) = schema["$ref"].as_str() {
            self.objects(self.resolved(reference), found);
        }
        for word in ["allOf", "anyOf", "oneOf"] {
            for one in schema[word].as_array().into_iter().flatten() {
                self.objects(one, found);
            }
        }
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn documents_have_the_form_that_is_documented() {
    let schema = Schema::committed();
    let bottleneck = scenario("bottleneck.toml");
    let short = ["--set", "duration=3s", "--set", "warmup=1s"];
    let with = |args: &[&str]| lines(&said(args)).remove(0);
    let sim = |name: &str, more: &[&str]| with(&[&["sim", name, "--json"], &short[..], more].concat());
    schema.check("equation", "json", &with(&["equation", "--rtt", "100ms", "-p", "1%", "-J"]));
    schema.check("scenario list", "json", &with(&["scenario", "list", "-J"]));
    for name in ["linux-bidir-50ms", "raw-client-to-linux"] {
        let file = scenario("").join(format!("../testdata/linux-dccp/{name}.pcap"));
        schema.check("capture", "json", &with(&["capture", "-J", file.to_str().expect("text")]));
    }
    schema.check("sim", "json", &sim("bottleneck", &["--timing"]));
    schema.check("sim", "json", &sim("dccp", &[]));
    schema.check("sim, several runs", "json", &sim("tcp-variants", &["--runs", "2"]));
    schema.check("sim, several runs", "json", &sim("fixed-points", &["--runs", "1"]));
    schema.check("sim --shard", "json", &sim("bottleneck", &["--runs", "2", "--shard", "1/2"]));
    let stream = said(&[&["sim", "mix-red", "--runs", "1", "--json-stream"], &short[..]].concat());
    let kinds: BTreeSet<String> =
        lines(&stream).iter().filter_map(|line| line["type"].as_str().map(str::to_owned)).collect();
    assert_eq!(kinds.len(), 3, "start, interval and end: {kinds:?}");
    lines(&stream).iter().for_each(|line| schema.check("sim", "json-stream", line));
    for (option, command) in [("--json", "json"), ("--json-stream", "json-stream")] {
        let demo = said(&["demo", "--duration", "2s", option]);
        lines(&demo).iter().for_each(|line| schema.check("demo", command, line));
        let mut link = tfrc(["link", bottleneck.to_str().expect("text"), option]);
        link.args(["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"]);
        let mut link = Program::start(link);
        let line = link.wait_for("relaying");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.send_to(b"one", line.split(' ').nth(1).expect("an address")).expect("sent");
        link.signal("INT");
        lines(link.succeed().text()).iter().for_each(|line| schema.check("link", command, line));
    }
}

/// The test itself notices what is not right.
#[test]
fn a_document_of_another_form_is_noticed() {
    let schema = Schema::committed();
    let of = &schema.root["commands"]["equation"]["json"];
    let right = serde_json::json!({
        "schema_version": 1, "rate_bps": 1.0, "p": 0.5, "rtt_s": 0.1, "rto_s": 0.4, "segment_bytes": 1
    });
    let both = |value: &Value| schema.fits(of, value, "").and_then(|()| schema.known(of, value, ""));
    assert_eq!(both(&right), Ok(()));
    for (key, wrong) in
        [("p", Value::Null), ("segment_bytes", "1".into()), ("segment_bytes", 1.5.into()), ("more", 1.into())]
    {
        let mut document = right.clone();
        document[key] = wrong;
        assert!(both(&document).is_err(), "{key}");
    }
    let mut less = right;
    less.as_object_mut().expect("an object").remove("rtt_s");
    assert!(both(&less).is_err());
}
