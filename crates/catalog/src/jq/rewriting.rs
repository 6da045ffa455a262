//! The rewriting of programs so that repeated operations are charged, and the refusal of programs that can't be.

use jaq_core::{
    load::{
        lex::StrPart,
        parse::{BinaryOp, Def, Pattern, Term},
    },
    ops::Math,
    path::{Part, Path},
};

use std::collections::BTreeSet;

/// Names of our own filters, which a rewritten program calls. No program can say them: they aren't identifiers.
pub const STEP: &str = "!step";
pub const TURN: &str = "!turn";
pub const ADD: &str = "!add";
pub const MULTIPLY: &str = "!multiply";

/// A variable of ours. No program can say it.
const OPERAND: &str = "$!operand";

/// Filters whose result doesn't depend on the output alone.
pub const OUTSIDE: &[&str] = &[
    "env",
    "halt",
    "halt_error",
    "localtime",
    "now",
    "strflocaltime",
];

/// What a program may not say, and why.
pub struct RefusedName<'s> {
    /// The name, where it stands in the program.
    pub name: &'s str,
    /// Why it is refused, as the end of a sentence.
    pub why: &'static str,
}

/// The rewriting of one program.
pub struct Rewriting<'s> {
    /// Whether this is a metric's program rather than jq's own definitions.
    program: bool,
    /// The definitions around the place.
    around: Vec<Around<'s>>,
    /// The names that are called.
    calls: BTreeSet<&'s str>,
}

struct Around<'s> {
    name: &'s str,
    arity: usize,
    calls_itself: bool,
}

type Code<'s> = Term<&'s str>;

/// The entries of an object that is being made.
type Entries<'s> = Vec<(Code<'s>, Option<Code<'s>>)>;

type Rewritten<'s, T = Code<'s>> = Result<T, RefusedName<'s>>;

impl<'s> Rewriting<'s> {
    /// Of a metric's program.
    pub fn of_program() -> Self {
        Self {
            program: true,
            around: Vec::new(),
            calls: BTreeSet::new(),
        }
    }

    /// Of jq's own definitions.
    pub fn of_prelude() -> Self {
        Self {
            program: false,
            around: Vec::new(),
            calls: BTreeSet::new(),
        }
    }

    /// The names that everything rewritten so far calls, those of its own definitions among them.
    pub fn calls(&self) -> impl Iterator<Item = &'s str> {
        self.calls.iter().copied()
    }

    /// The definition, with its operations charged.
    pub fn definition(&mut self, definition: Def<&'s str>) -> Rewritten<'s, Def<&'s str>> {
        let Def { name, args, body } = definition;
        self.around.push(Around {
            name,
            arity: args.len(),
            calls_itself: false,
        });
        let body = self.term(body);
        let calls_itself = self.around.pop().is_some_and(|around| around.calls_itself);
        // Charged before the body begins, which keeps a tail call a tail call.
        let body = if calls_itself {
            charged(TURN, body?)
        } else {
            body?
        };
        Ok(Def { name, args, body })
    }

    fn term(&mut self, term: Code<'s>) -> Rewritten<'s> {
        Ok(match term {
            Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) => term,
            Term::Str(format, parts) => {
                self.calls.extend(format);
                Term::Str(format, self.parts(parts)?)
            }
            Term::Arr(inner) => Term::Arr(self.maybe(inner)?),
            Term::Obj(entries) => Term::Obj(self.entries(entries)?),
            Term::Neg(inner) => Term::Neg(self.boxed(*inner)?),
            Term::BinOp(left, operator, right) => {
                let (left, right) = (self.term(*left)?, self.term(*right)?);
                self.operation(left, operator, right)?
            }
            Term::Label(label, inner) => Term::Label(label, self.boxed(*inner)?),
            Term::Fold(kind, over, pattern, arguments) => {
                let over = self.boxed(*over)?;
                let pattern = self.pattern(pattern)?;
                let mut arguments = self.terms(arguments)?;
                // jq's own folds don't nest. The first argument is where the fold begins; the others are done
                // again and again.
                let fuel = if self.program { TURN } else { STEP };
                for argument in arguments.iter_mut().skip(1) {
                    *argument = charged(fuel, std::mem::take(argument));
                }
                Term::Fold(kind, over, pattern, arguments)
            }
            Term::TryCatch(tried, caught) => {
                Term::TryCatch(self.boxed(*tried)?, self.maybe(caught)?)
            }
            Term::IfThenElse(cases, otherwise) => {
                let cases = cases
                    .into_iter()
                    .map(|(condition, then)| Ok((self.term(condition)?, self.term(then)?)));
                Term::IfThenElse(cases.collect::<Result<_, _>>()?, self.maybe(otherwise)?)
            }
            Term::Def(definitions, rest) => {
                let definitions = definitions
                    .into_iter()
                    .map(|definition| self.definition(definition));
                Term::Def(definitions.collect::<Result<_, _>>()?, self.boxed(*rest)?)
            }
            Term::Call(name, arguments) => {
                self.call(name, arguments.len())?;
                Term::Call(name, self.terms(arguments)?)
            }
            Term::Path(from, path) => Term::Path(self.boxed(*from)?, self.path(path)?),
        })
    }

    fn call(&mut self, name: &'s str, arity: usize) -> Rewritten<'s, ()> {
        self.calls.insert(name);
        let mut around = self.around.iter_mut();
        if let Some(itself) = around.find(|def| def.name == name && def.arity == arity) {
            if self.program {
                return Err(RefusedName {
                    name,
                    why: "calls itself, which a metric's jq must not",
                });
            }
            itself.calls_itself = true;
        }
        if self.program && OUTSIDE.contains(&name) {
            return Err(RefusedName {
                name,
                why: "isn't there: samples come from the output alone",
            });
        }
        Ok(())
    }

    fn operation(
        &mut self,
        left: Code<'s>,
        operator: BinaryOp<&'s str>,
        right: Code<'s>,
    ) -> Rewritten<'s> {
        let checked = |math| match math {
            Math::Add => Some(ADD),
            Math::Mul => Some(MULTIPLY),
            Math::Sub | Math::Div | Math::Rem => None,
        };
        Ok(match operator {
            BinaryOp::Pipe(pattern) => {
                let pattern = pattern.map(|pattern| self.pattern(pattern)).transpose()?;
                binary(left, BinaryOp::Pipe(pattern), charged(STEP, right))
            }
            BinaryOp::Math(math) => charged_by_output(match checked(math) {
                Some(name) => Term::Call(name, vec![left, right]),
                None => binary(left, BinaryOp::Math(math), right),
            }),
            BinaryOp::Cmp(comparison) => {
                charged_by_output(binary(left, BinaryOp::Cmp(comparison), right))
            }
            BinaryOp::UpdateMath(math) => match checked(math) {
                // `l += r` is `r as $x | l |= . + $x`
                Some(name) => {
                    let sum = Term::Call(name, vec![Term::Id, Term::Var(OPERAND)]);
                    let bound = BinaryOp::Pipe(Some(Pattern::Var(OPERAND)));
                    binary(
                        right,
                        bound,
                        binary(left, BinaryOp::Update, charged(STEP, sum)),
                    )
                }
                None => binary(left, BinaryOp::UpdateMath(math), right),
            },
            other => binary(left, other, right),
        })
    }

    fn boxed(&mut self, term: Code<'s>) -> Rewritten<'s, Box<Code<'s>>> {
        self.term(term).map(Box::new)
    }

    fn maybe(&mut self, term: Option<Box<Code<'s>>>) -> Rewritten<'s, Option<Box<Code<'s>>>> {
        term.map(|term| self.boxed(*term)).transpose()
    }

    fn terms(&mut self, terms: Vec<Code<'s>>) -> Rewritten<'s, Vec<Code<'s>>> {
        terms.into_iter().map(|term| self.term(term)).collect()
    }

    fn parts(
        &mut self,
        parts: Vec<StrPart<&'s str, Code<'s>>>,
    ) -> Rewritten<'s, Vec<StrPart<&'s str, Code<'s>>>> {
        let part = |part| match part {
            StrPart::Term(term) => self.term(term).map(StrPart::Term),
            plain => Ok(plain),
        };
        parts.into_iter().map(part).collect()
    }

    fn entries(&mut self, entries: Entries<'s>) -> Rewritten<'s, Entries<'s>> {
        let entry = |(key, value): (_, Option<_>)| {
            Ok((
                self.term(key)?,
                value.map(|value| self.term(value)).transpose()?,
            ))
        };
        entries.into_iter().map(entry).collect()
    }

    fn pattern(&mut self, pattern: Pattern<&'s str>) -> Rewritten<'s, Pattern<&'s str>> {
        Ok(match pattern {
            Pattern::Var(name) => Pattern::Var(name),
            Pattern::Arr(inner) => {
                let inner = inner.into_iter().map(|pattern| self.pattern(pattern));
                Pattern::Arr(inner.collect::<Result<_, _>>()?)
            }
            Pattern::Obj(entries) => {
                let entries = entries
                    .into_iter()
                    .map(|(key, pattern)| Ok((self.term(key)?, self.pattern(pattern)?)));
                Pattern::Obj(entries.collect::<Result<_, _>>()?)
            }
        })
    }

    fn path(&mut self, path: Path<Code<'s>>) -> Rewritten<'s, Path<Code<'s>>> {
        let part = |(part, optional)| {
            let part = match part {
                Part::Index(index) => Part::Index(self.term(index)?),
                Part::Range(from, to) => Part::Range(
                    from.map(|from| self.term(from)).transpose()?,
                    to.map(|to| self.term(to)).transpose()?,
                ),
            };
            Ok((part, optional))
        };
        path.0
            .into_iter()
            .map(part)
            .collect::<Result<_, _>>()
            .map(Path)
    }
}

fn binary<'s>(left: Code<'s>, operator: BinaryOp<&'s str>, right: Code<'s>) -> Code<'s> {
    Term::BinOp(Box::new(left), operator, Box::new(right))
}

/// The term, after a charge.
fn charged<'s>(fuel: &'static str, term: Code<'s>) -> Code<'s> {
    binary(Term::Call(fuel, Vec::new()), BinaryOp::Pipe(None), term)
}

/// The term, with a charge of a step for each of its outputs.
fn charged_by_output(term: Code<'_>) -> Code<'_> {
    binary(term, BinaryOp::Pipe(None), Term::Call(STEP, Vec::new()))
}
