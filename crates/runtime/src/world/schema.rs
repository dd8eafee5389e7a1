//! Whether arguments fit the schema of their tool.
//!
//! Nearly all schemas of tools say which fields there are and of what form each is. That much is checked here; a schema that says
//! more is never half checked: it goes to the crate `jsonschema` as a whole, or is refused.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Number, Value};

/// What else a schema can demand. Other words are remarks, as the standard has it.
const DEMANDS: &[&str] = &[
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "additionalItems",
    "allOf",
    "anyOf",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "discriminator",
    "else",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "maxContains",
    "maxProperties",
    "minContains",
    "minProperties",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];

/// In the order in which they are told.
const KINDS: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// How many values an `enum` may have for all of them to be told.
const MOST_TOLD: usize = 3;

/// The longest list of schema faults that a model is told.
const FAULTS_TOLD: usize = 5;

/// A schema, ready to check arguments.
pub(crate) enum Schema {
    Form(Box<Form>),
    #[cfg(feature = "json-schema")]
    Whole(Box<jsonschema::Validator>),
    /// The tool reads its arguments itself, and says what does not fit.
    #[cfg(not(feature = "json-schema"))]
    Unchecked,
}

impl Schema {
    /// Reads a schema; an `Err` says what is wrong with it. One that demands more than is checked here is none for a tool that does not
    /// check its arguments itself.
    pub(crate) fn read(schema: &Value, tool_checks: bool) -> Result<Schema, String> {
        match Form::read(schema) {
            Ok(form) => Ok(Schema::Form(Box::new(form))),
            Err(Unread::Wrong(fault)) => Err(fault),
            Err(Unread::Demand(keyword)) => Schema::whole(schema, keyword, tool_checks),
        }
    }

    /// Reads a schema that demands more, by its first such word.
    #[cfg(feature = "json-schema")]
    fn whole(schema: &Value, _: &str, _: bool) -> Result<Schema, String> {
        let whole = jsonschema::validator_for(schema).map_err(|fault| fault.to_string())?;
        Ok(Schema::Whole(Box::new(whole)))
    }

    #[cfg(not(feature = "json-schema"))]
    fn whole(_: &Value, keyword: &str, tool_checks: bool) -> Result<Schema, String> {
        if tool_checks {
            return Ok(Schema::Unchecked);
        }
        Err(format!("{keyword:?} is only checked with the feature `json-schema` of trunkline-runtime"))
    }

    /// Returns what the model is told if arguments do not fit.
    pub(crate) fn check(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let faults = self.faults(&Value::Object(arguments.clone()), FAULTS_TOLD).into_iter();
        let told = faults.map(|fault| match fault.place.as_str() {
            "" => clip(&fault.text),
            place => format!("{place}: {}", clip(&fault.text)),
        });
        let told: Vec<String> = told.collect();
        match told.is_empty() {
            true => Ok(()),
            false => Err(format!("not run: the arguments do not fit the tool: {}", told.join("; "))),
        }
    }

    /// Returns at most so many faults of a value, each with its place.
    fn faults(&self, value: &Value, most: usize) -> Vec<Fault> {
        match self {
            Schema::Form(form) => {
                let mut faults = Faults { place: String::new(), told: Vec::new(), most };
                form.check(value, &mut faults);
                faults.told
            }
            #[cfg(feature = "json-schema")]
            Schema::Whole(whole) => whole
                .iter_errors(value)
                .take(most)
                .map(|fault| Fault {
                    place: fault.instance_path().as_str().to_owned(),
                    text: fault.to_string(),
                })
                .collect(),
            #[cfg(not(feature = "json-schema"))]
            Schema::Unchecked => Vec::new(),
        }
    }
}

fn clip(text: &str) -> String {
    text.chars().take(300).collect()
}

/// What does not fit.
pub(crate) struct Fault {
    /// A JSON pointer, empty for the whole.
    pub(crate) place: String,
    pub(crate) text: String,
}

/// What was found until now, and where the search is.
struct Faults {
    place: String,
    told: Vec<Fault>,
    /// So many are told; a list of a million wrong items is not gone through.
    most: usize,
}

impl Faults {
    fn are_enough(&self) -> bool {
        self.told.len() >= self.most
    }

    fn tell(&mut self, text: String) {
        if !self.are_enough() {
            self.told.push(Fault { place: self.place.clone(), text });
        }
    }
}

/// Why a schema was not read.
enum Unread {
    /// It is none.
    Wrong(String),
    /// It demands something that is not checked here.
    Demand(&'static str),
}

/// What is asked of one value.
#[derive(Default)]
pub(crate) struct Form {
    /// Nothing fits.
    refuses_all: bool,
    kinds: Option<Vec<&'static str>>,
    constant: Option<Value>,
    values: Option<Vec<Value>>,
    minimum: Option<Number>,
    maximum: Option<Number>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    required: Vec<String>,
    properties: BTreeMap<String, Form>,
    additional: Option<Box<Form>>,
    items: Option<Box<Form>>,
}

impl Form {
    fn read(schema: &Value) -> Result<Form, Unread> {
        let words = match schema {
            Value::Bool(fits) => return Ok(Form { refuses_all: !fits, ..Form::default() }),
            Value::Object(words) => words,
            _ => return Err(wrong(schema, "a schema, which is an object, true or false")),
        };
        if let Some(demand) = DEMANDS.iter().find(|demand| words.contains_key(**demand)) {
            return Err(Unread::Demand(demand));
        }
        let mut form = Form::default();
        for (word, value) in words {
            match word.as_str() {
                "type" => form.kinds = Some(kinds(value)?),
                "const" => form.constant = Some(value.clone()),
                "enum" => form.values = Some(list(value)?.clone()),
                "minimum" => form.minimum = Some(number(value)?),
                "maximum" => form.maximum = Some(number(value)?),
                "minLength" => form.min_length = Some(count(value)?),
                "maxLength" => form.max_length = Some(count(value)?),
                "minItems" => form.min_items = Some(count(value)?),
                "maxItems" => form.max_items = Some(count(value)?),
                "required" => form.required = list(value)?.iter().map(name).collect::<Result<_, _>>()?,
                "properties" => {
                    let fields = value.as_object().ok_or_else(|| wrong(value, "an object of schemas"))?;
                    let read = |(name, schema): (&String, &Value)| Ok((name.clone(), Form::read(schema)?));
                    form.properties = fields.iter().map(read).collect::<Result<_, _>>()?;
                }
                "additionalProperties" => form.additional = Some(Box::new(Form::read(value)?)),
                // Older drafts have a list of schemas here, one for each place.
                "items" if value.is_array() => return Err(Unread::Demand("items")),
                "items" => form.items = Some(Box::new(Form::read(value)?)),
                _ => {}
            }
        }
        Ok(form)
    }

    /// Tells what does not fit, in the words of `jsonschema`, so that a model is told the same by both.
    fn check(&self, value: &Value, faults: &mut Faults) {
        if self.refuses_all {
            faults.tell(format!("False schema does not allow {value}"));
        }
        if let Some(kinds) = &self.kinds
            && !kinds.iter().any(|kind| is_of_kind(value, kind))
        {
            faults.tell(match kinds.as_slice() {
                [kind] => format!("{value} is not of type {kind:?}"),
                kinds => {
                    let kinds: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}")).collect();
                    format!("{value} is not of types {}", kinds.join(", "))
                }
            });
        }
        if let Some(constant) = &self.constant
            && !is_equal(constant, value)
        {
            faults.tell(format!("{constant} was expected"));
        }
        if let Some(values) = &self.values
            && !values.iter().any(|one| is_equal(one, value))
        {
            faults.tell(format!("{value} is not one of {}", told_values(values)));
        }
        match value {
            Value::Number(number) => self.check_number(number, faults),
            Value::String(text) => {
                let long = text.chars().count();
                bounds(
                    value,
                    long,
                    (self.min_length, self.max_length),
                    ["shorter", "longer"],
                    "character",
                    faults,
                );
            }
            Value::Array(items) => {
                let many = items.len();
                bounds(value, many, (self.min_items, self.max_items), ["less", "more"], "item", faults);
                self.check_items(items, faults);
            }
            Value::Object(fields) => self.check_fields(fields, faults),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn check_number(&self, number: &Number, faults: &mut Faults) {
        if let Some(least) = self.minimum.as_ref().filter(|least| is_less(number, least)) {
            faults.tell(format!("{number} is less than the minimum of {least}"));
        }
        if let Some(most) = self.maximum.as_ref().filter(|most| is_less(most, number)) {
            faults.tell(format!("{number} is greater than the maximum of {most}"));
        }
    }

    fn check_items(&self, items: &[Value], faults: &mut Faults) {
        let Some(form) = &self.items else { return };
        for (index, item) in items.iter().enumerate() {
            if faults.are_enough() {
                return;
            }
            form.check_below(&index.to_string(), item, faults);
        }
    }

    fn check_fields(&self, fields: &Map<String, Value>, faults: &mut Faults) {
        for name in self.required.iter().filter(|name| !fields.contains_key(*name)) {
            faults.tell(format!("{} is a required property", Value::from(name.as_str())));
        }
        let mut unexpected = Vec::new();
        for (name, value) in fields {
            match (self.properties.get(name), &self.additional) {
                (Some(form), _) => form.check_below(name, value, faults),
                (None, Some(form)) if form.refuses_all => unexpected.push(format!("'{name}'")),
                (None, Some(form)) => form.check_below(name, value, faults),
                (None, None) => {}
            }
        }
        if !unexpected.is_empty() {
            let verb = if unexpected.len() == 1 { "was" } else { "were" };
            let text = format!(
                "Additional properties are not allowed ({} {verb} unexpected)",
                unexpected.join(", ")
            );
            faults.tell(text);
        }
    }

    fn check_below(&self, step: &str, value: &Value, faults: &mut Faults) {
        let length = faults.place.len();
        faults.place.push('/');
        faults.place.push_str(&step.replace('~', "~0").replace('/', "~1"));
        self.check(value, faults);
        faults.place.truncate(length);
    }
}

fn wrong(value: &Value, wanted: &str) -> Unread {
    Unread::Wrong(format!("{value} is not {wanted}"))
}

fn kinds(value: &Value) -> Result<Vec<&'static str>, Unread> {
    let one = |value: &Value| {
        let kind = KINDS.iter().find(|kind| value.as_str() == Some(**kind));
        kind.copied().ok_or_else(|| wrong(value, "a type"))
    };
    let mut kinds = match value {
        Value::Array(values) => values.iter().map(one).collect::<Result<Vec<_>, _>>()?,
        value => vec![one(value)?],
    };
    kinds.sort_by_key(|kind| KINDS.iter().position(|one| one == kind));
    Ok(kinds)
}

fn list(value: &Value) -> Result<&Vec<Value>, Unread> {
    value.as_array().ok_or_else(|| wrong(value, "a list"))
}

fn name(value: &Value) -> Result<String, Unread> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(value, "a name"))
}

fn number(value: &Value) -> Result<Number, Unread> {
    value.as_number().cloned().ok_or_else(|| wrong(value, "a number"))
}

fn count(value: &Value) -> Result<u64, Unread> {
    // A whole number may be written as `1.0`.
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
    value.as_u64().or(whole.map(|number| number as u64)).ok_or_else(|| wrong(value, "a count"))
}

fn is_of_kind(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => kind == "number" || (kind == "integer" && is_whole(number)),
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn is_less(one: &Number, other: &Number) -> bool {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one < other,
        _ => one.as_f64() < other.as_f64(),
    }
}

/// Whether two values say the same; `1` and `1.0` do.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => !is_less(one, other) && !is_less(other, one),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(name, value)| other.get(name).is_some_and(|other| is_equal(value, other));
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}

/// Tells a size that is out of its bounds.
fn bounds(
    value: &Value,
    size: usize,
    (least, most): (Option<u64>, Option<u64>),
    [too_small, too_large]: [&str; 2],
    unit: &str,
    faults: &mut Faults,
) {
    let verb = if unit == "item" { "has" } else { "is" };
    let ending = |limit: u64| if limit == 1 { "" } else { "s" };
    let size = size as u64;
    if let Some(limit) = least.filter(|least| size < *least) {
        faults.tell(format!("{value} {verb} {too_small} than {limit} {unit}{}", ending(limit)));
    }
    if let Some(limit) = most.filter(|most| size > *most) {
        faults.tell(format!("{value} {verb} {too_large} than {limit} {unit}{}", ending(limit)));
    }
}

fn told_values(values: &[Value]) -> String {
    let shown = if values.len() > MOST_TOLD { MOST_TOLD - 1 } else { values.len() };
    let mut told = String::new();
    for (index, value) in values.iter().take(shown).enumerate() {
        let before = match index {
            0 => "",
            _ if index + 1 == values.len() => " or ",
            _ => ", ",
        };
        let _ = write!(told, "{before}{value}");
    }
    if values.len() > shown {
        let _ = write!(told, " or {} other candidates", values.len() - shown);
    }
    told
}
