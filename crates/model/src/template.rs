//! Texts with placeholders: `iperf3 -c {server.data} -P {streams} {reverse:--reverse}`.
//!
//! In braces stand: a name (`{streams}`, `{server.data}`, `{cpus}`), a truth with the text that it
//! switches on (`{reverse:--reverse}`), or arithmetic (`{memory * 3 / 4}`, `{max(1, cpus / 2)}`). Two
//! braces are one literal brace. Whole numbers divide as whole numbers, as in the shell.
//!
//! An unknown name and a division by zero are errors. A value is always quoted in a command.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

use crate::{Value, is_machine_placeholder};

/// Longest template accepted, in bytes, and deepest nesting of its arithmetic.
const LONGEST: usize = 64 * 1024;
const DEEPEST: usize = 50;

/// A fault in a template or in filling it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A brace has no partner.
    #[error("a `{{` without its `}}`; write `{{{{` for a literal brace")]
    Unclosed,
    /// A closing brace comes first.
    #[error("a `}}` without its `{{`; write `}}}}` for a literal brace")]
    Unopened,
    /// What stands in braces isn't a name, a switch or arithmetic.
    #[error(
        "`{{{0}}}` is neither a name nor arithmetic; write `{{{{` and `}}}}` for literal braces"
    )]
    NotAnExpression(String),
    /// Nobody defines the name.
    #[error("`{{{0}}}` is not defined here")]
    Unknown(String),
    /// The name asks the machine, and the machine doesn't say it.
    #[error(
        "this machine doesn't say its `{{{0}}}`: use a parameter in its place and give it a value in the plan's [params]"
    )]
    NotOnThisMachine(String),
    /// The value has the wrong kind.
    #[error("`{name}` is {kind}, and {wanted} is needed here")]
    Kind {
        /// The placeholder.
        name: String,
        /// What it is.
        kind: &'static str,
        /// What is needed.
        wanted: &'static str,
    },
    /// Division by zero, or a result that isn't finite.
    #[error("`{{{0}}}` has no finite value")]
    NotFinite(String),
    /// Longer than any command can be.
    #[error("longer than {LONGEST} bytes")]
    TooLong,
}

fn without_value(name: &str) -> TemplateError {
    match is_machine_placeholder(name) {
        true => TemplateError::NotOnThisMachine(name.to_owned()),
        false => TemplateError::Unknown(name.to_owned()),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Literal(String),
    Value {
        source: String,
        expression: Expression,
    },
    Switch {
        name: String,
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Number(Value),
    Name(String),
    Negative(Box<Expression>),
    Binary(char, Box<Expression>, Box<Expression>),
    Call(Function, Vec<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Floor,
    Ceil,
    Round,
}

/// A text with placeholders, taken apart once.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

impl Template {
    /// The template that this text writes.
    ///
    /// # Errors
    /// Braces without partner, or something in them that is neither a name nor arithmetic.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        if source.len() > LONGEST {
            return Err(TemplateError::TooLong);
        }
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..at + 1];
            rest = &rest[at + 1..];
            if let Some(tail) = rest.strip_prefix(brace) {
                literal.push_str(brace);
                rest = tail;
            } else if brace == "}" {
                return Err(TemplateError::Unopened);
            } else {
                let end = rest.find('}').ok_or(TemplateError::Unclosed)?;
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(placeholder(&rest[..end])?);
                rest = &rest[end + 1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self {
            source: source.to_owned(),
            parts,
        })
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Every name that must be defined to fill this.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for part in &self.parts {
            match part {
                Part::Literal(_) => {}
                Part::Switch { name, .. } => names.push(name.as_str()),
                Part::Value { expression, .. } => expression.names(&mut names),
            }
        }
        names
    }

    /// The text with every placeholder filled as it is.
    ///
    /// # Errors
    /// A name is unknown, a value has the wrong kind, or arithmetic has no finite value.
    pub fn fill(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Result<String, TemplateError> {
        self.fill_with(lookup, |value| value.to_string())
    }

    /// The text as a shell command: a value with characters that a shell would act on is quoted.
    ///
    /// # Errors
    /// As [`Template::fill`].
    pub fn fill_command(
        &self,
        lookup: &dyn Fn(&str) -> Option<Value>,
    ) -> Result<String, TemplateError> {
        self.fill_with(lookup, |value| shell_quoted(&value.to_string()))
    }

    fn fill_with(
        &self,
        lookup: &dyn Fn(&str) -> Option<Value>,
        write: impl Fn(&Value) -> String,
    ) -> Result<String, TemplateError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Value { source, expression } => {
                    text.push_str(&write(&expression.evaluate(source, lookup)?));
                }
                Part::Switch {
                    name,
                    text: switched,
                } => match lookup(name).ok_or_else(|| without_value(name))? {
                    Value::Bool(true) => text.push_str(switched),
                    Value::Bool(false) => {}
                    other => {
                        return Err(TemplateError::Kind {
                            name: name.clone(),
                            kind: other.kind(),
                            wanted: "true or false",
                        });
                    }
                },
            }
        }
        Ok(text)
    }
}

/// A command line of these words, as a shell takes it.
pub fn shell_line<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let words = words.into_iter().map(|word| shell_quoted(word.as_ref()));
    words.collect::<Vec<String>>().join(" ")
}

/// The text, quoted for `sh` if it has any character that `sh` would act on.
pub fn shell_quoted(text: &str) -> String {
    let harmless = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '-' | '.' | '/' | ':' | '=' | ',' | '@' | '%' | '+')
    };
    if !text.is_empty() && text.chars().all(harmless) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn placeholder(source: &str) -> Result<Part, TemplateError> {
    if let Some((name, text)) = source.split_once(':') {
        let name = name.trim();
        return if is_name(name) {
            Ok(Part::Switch {
                name: name.to_owned(),
                text: text.to_owned(),
            })
        } else {
            Err(TemplateError::NotAnExpression(source.to_owned()))
        };
    }
    let mut parser = Parser {
        rest: source.trim(),
        depth: 0,
    };
    let expression = parser
        .sum()
        .filter(|_| parser.rest.is_empty())
        .ok_or_else(|| TemplateError::NotAnExpression(source.to_owned()))?;
    Ok(Part::Value {
        source: source.to_owned(),
        expression,
    })
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn take(&mut self, symbol: char) -> bool {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<Expression> {
        self.operators(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Option<Expression> {
        self.operators(&['*', '/', '%'], Self::atom)
    }

    fn operators(
        &mut self,
        symbols: &[char],
        operand: fn(&mut Self) -> Option<Expression>,
    ) -> Option<Expression> {
        let mut left = operand(self)?;
        while let Some(symbol) = symbols.iter().copied().find(|s| self.take(*s)) {
            let right = operand(self)?;
            left = Expression::Binary(symbol, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn atom(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let atom = if self.take('-') {
            Expression::Negative(Box::new(self.atom()?))
        } else if self.take('(') {
            let inner = self.sum()?;
            self.take(')').then_some(inner)?
        } else if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            self.number()?
        } else {
            self.name_or_call()?
        };
        self.depth -= 1;
        Some(atom)
    }

    fn number(&mut self) -> Option<Expression> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        match Value::from_argument(digits) {
            Value::Text(_) => None,
            number => Some(Expression::Number(number)),
        }
    }

    fn name_or_call(&mut self) -> Option<Expression> {
        // A `-` inside a name is a dash, with spaces around it a minus.
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | '-'))
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if !is_name(name) {
            return None;
        }
        self.rest = rest.trim_start();
        if !self.take('(') {
            return Some(Expression::Name(name.to_owned()));
        }
        let (function, wanted) = match name {
            "min" => (Function::Min, None),
            "max" => (Function::Max, None),
            "floor" => (Function::Floor, Some(1)),
            "ceil" => (Function::Ceil, Some(1)),
            "round" => (Function::Round, Some(1)),
            _ => return None,
        };
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        let enough = wanted.is_none_or(|n| n == arguments.len());
        (self.take(')') && enough).then_some(Expression::Call(function, arguments))
    }
}

impl Expression {
    fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => names.push(name),
            Self::Negative(inner) => inner.names(names),
            Self::Binary(_, left, right) => {
                left.names(names);
                right.names(names);
            }
            Self::Call(_, arguments) => arguments.iter().for_each(|a| a.names(names)),
        }
    }

    fn evaluate(
        &self,
        source: &str,
        lookup: &dyn Fn(&str) -> Option<Value>,
    ) -> Result<Value, TemplateError> {
        let number = |expression: &Self| -> Result<Value, TemplateError> {
            let value = expression.evaluate(source, lookup)?;
            match value {
                Value::Integer(_) | Value::Float(_) => Ok(value),
                other => Err(TemplateError::Kind {
                    name: source.to_owned(),
                    kind: other.kind(),
                    wanted: "a number",
                }),
            }
        };
        let value = match self {
            Self::Number(value) => Some(value.clone()),
            Self::Name(name) => Some(lookup(name).ok_or_else(|| without_value(name))?),
            Self::Negative(inner) => arithmetic('-', &Value::Integer(0), &number(inner)?),
            Self::Binary(symbol, left, right) => {
                arithmetic(*symbol, &number(left)?, &number(right)?)
            }
            Self::Call(function, arguments) => {
                let values = arguments
                    .iter()
                    .map(number)
                    .collect::<Result<Vec<_>, _>>()?;
                function.apply(values)
            }
        };
        value.ok_or_else(|| TemplateError::NotFinite(source.to_owned()))
    }
}

impl Function {
    fn apply(self, values: Vec<Value>) -> Option<Value> {
        let order = |a: &Value, b: &Value| {
            a.number()
                .unwrap_or(f64::NAN)
                .total_cmp(&b.number().unwrap_or(f64::NAN))
        };
        let whole = |round: fn(f64) -> f64| {
            let number = round(values.first()?.number()?);
            (number.abs() < 9e15).then_some(Value::Integer(number as i64))
        };
        match self {
            Self::Floor => whole(f64::floor),
            Self::Ceil => whole(f64::ceil),
            Self::Round => whole(f64::round),
            Self::Min => values.into_iter().min_by(order),
            Self::Max => values.into_iter().max_by(order),
        }
    }
}

/// The result, whole when both operands are whole; `None` when it isn't finite or doesn't fit.
fn arithmetic(symbol: char, left: &Value, right: &Value) -> Option<Value> {
    if let (Value::Integer(a), Value::Integer(b)) = (left, right) {
        return match symbol {
            '+' => a.checked_add(*b),
            '-' => a.checked_sub(*b),
            '*' => a.checked_mul(*b),
            '/' => a.checked_div(*b),
            _ => a.checked_rem(*b),
        }
        .map(Value::Integer);
    }
    let (a, b) = (left.number()?, right.number()?);
    let result = match symbol {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        '/' => a / b,
        _ => a % b,
    };
    result.is_finite().then_some(Value::Float(result))
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Template {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A text with placeholders: {name}, {role.data}, {flag:--text}, {cpus / 2}; {{ and }} are literal braces"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lookup(name: &str) -> Option<Value> {
        Some(match name {
            "cpus" => Value::Integer(2),
            "memory" => Value::Integer(25_769_803_776),
            "reverse" => Value::Bool(true),
            "server.data" => Value::Text("10.0.0.2".into()),
            "evil" => Value::Text("a'; rm -rf $HOME #".into()),
            "half" => Value::Float(0.5),
            "block-size" => Value::Text("4k".into()),
            _ => return None,
        })
    }

    fn fill(text: &str) -> Result<String, TemplateError> {
        Template::parse(text)?.fill(&lookup)
    }

    #[test]
    fn placeholders_are_filled() {
        assert_eq!(
            fill("c {server.data} {reverse:--reverse}").unwrap(),
            "c 10.0.0.2 --reverse"
        );
        assert_eq!(fill("{memory * 3 / 4}").unwrap(), "19327352832");
        assert_eq!(
            fill("{max(1, cpus / 4)} {cpus - 1} {-cpus}").unwrap(),
            "1 1 -2"
        );
        assert_eq!(fill("{cpus * half} {round(3 * half)}").unwrap(), "1 2");
        assert_eq!(fill("{1 + 2 * 3} {(1 + 2) * 3} {7 % 4}").unwrap(), "7 9 3");
        assert_eq!(fill("{block-size}").unwrap(), "4k");
        assert_eq!(fill("awk '{{print $1}}'").unwrap(), "awk '{print $1}'");
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(
            fill("{sever.data}"),
            Err(TemplateError::Unknown("sever.data".into()))
        );
        assert_eq!(
            fill("{nodes * 2}"),
            Err(TemplateError::NotOnThisMachine("nodes".into()))
        );
        assert!(matches!(
            fill("awk '{print $1}'"),
            Err(TemplateError::NotAnExpression(_))
        ));
        assert_eq!(fill("a } b"), Err(TemplateError::Unopened));
        assert_eq!(fill("a { b"), Err(TemplateError::Unclosed));
        assert!(matches!(
            fill("{cpus / 0}"),
            Err(TemplateError::NotFinite(_))
        ));
        assert!(matches!(
            fill("{cpus:--x}"),
            Err(TemplateError::Kind { .. })
        ));
        assert!(matches!(
            fill("{reverse + 1}"),
            Err(TemplateError::Kind { .. })
        ));
        assert!(fill(&format!("{{{}1}}", "-".repeat(100_000))).is_err());
    }

    #[test]
    fn a_value_pasted_into_a_command_cannot_act_on_the_shell() {
        let command = Template::parse("echo {evil} {server.data}").unwrap();
        assert_eq!(
            command.fill_command(&lookup).unwrap(),
            r"echo 'a'\''; rm -rf $HOME #' 10.0.0.2"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_template_or_an_error(text in r"[{}a-z0-9+*/%(). :-]{0,40}") {
            if let Ok(template) = Template::parse(&text) {
                let _ = template.fill(&lookup);
            }
        }

        #[test]
        fn text_with_doubled_braces_stands_for_itself(text in ".{0,40}") {
            let doubled = text.replace('{', "{{").replace('}', "}}");
            prop_assert_eq!(fill(&doubled).unwrap(), text);
        }
    }

    #[test]
    fn a_quoted_word_is_one_word_to_the_shell() {
        for word in ["", "plain", "two words", "it's", "$HOME", "a\nb", "-n", "*"] {
            let script = format!("printf %s {}", shell_quoted(word));
            let out = std::process::Command::new("/bin/sh")
                .args(["-c", &script])
                .output()
                .unwrap();
            assert_eq!(out.stdout, word.as_bytes());
        }
    }
}
