//! Tables: columns, lines of fields, headings between them. Text is drawn as wide as it is, unless a terminal is narrower.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, presets::NOTHING};
use std::fmt::Write as _;

use crate::{escape, markdown};

/// What a table has where a heading goes that is wider than its first column. [`escape::line`] lets it through nowhere.
const HEADING: &str = "\u{2060}";

/// What a text is about, for who can show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// A change for the better.
    Good,
    /// A change for the worse.
    Bad,
    /// A change that is neither.
    Changed,
    /// Something missing or not known.
    Faint,
}

/// A text in a column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Field {
    /// The text, as others may have written it.
    pub text: String,
    /// What it is about.
    pub tone: Tone,
    /// How dark it is on a page, in tenths.
    pub shade: Option<u8>,
}

/// A plain text.
pub fn field(text: impl Into<String>) -> Field {
    Field {
        text: text.into(),
        tone: Tone::Plain,
        shade: None,
    }
}

impl Field {
    /// The same text about something.
    #[must_use]
    pub fn with_tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// The same text, darker on a page the larger this share of one is.
    #[must_use]
    pub fn with_shade(self, share: f64) -> Self {
        let shade = Some((share.clamp(0.0, 1.0) * 10.0).round() as u8);
        Self { shade, ..self }
    }

    fn markdown(&self) -> String {
        let text = markdown::escaped(&self.text);
        match self.tone {
            Tone::Good | Tone::Bad if !text.is_empty() => format!("**{text}**"),
            Tone::Faint if !text.is_empty() => format!("_{text}_"),
            _ => text,
        }
    }

    fn html(&self) -> String {
        let text = escape::html(&self.text);
        if let Some(shade) = self.shade {
            return format!("<span class=\"shade shade-{shade}\">{text}</span>");
        }
        match class(self.tone) {
            "" => text,
            class => format!("<span class=\"{class}\">{text}</span>"),
        }
    }
}

/// The class of a tone on a page.
pub(crate) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Changed => "changed",
        Tone::Faint => "unsure",
    }
}

/// A line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A heading over the lines below it.
    Group(String),
    /// One text a column.
    Fields(Vec<Field>),
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What is above it.
    pub title: String,
    /// Whether its texts end below each other.
    pub right: bool,
}

/// A column of words.
pub fn left(title: impl Into<String>) -> Column {
    Column {
        title: title.into(),
        right: false,
    }
}

/// A column of numbers.
pub fn right(title: impl Into<String>) -> Column {
    Column {
        title: title.into(),
        right: true,
    }
}

/// How a text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TerminalStyle {
    /// The columns of the terminal; none where nothing is to be wrapped: in a pipe or a file.
    pub width: Option<u16>,
    /// Colour codes for a terminal.
    pub colour: bool,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Table {
    /// A table without lines.
    pub fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            lines: Vec::new(),
        }
    }

    /// Adds a line of a text for each column.
    pub fn row(&mut self, fields: Vec<Field>) {
        self.lines.push(Line::Fields(fields));
    }

    /// Adds a heading.
    pub fn group(&mut self, title: impl Into<String>) {
        self.lines.push(Line::Group(title.into()));
    }

    /// Whether it has no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How wide it is if nothing is wrapped.
    pub fn natural_width(&self) -> usize {
        let drawn = self.text(&TerminalStyle::default());
        let widths = drawn.lines().map(|line| line.chars().count());
        widths.max().unwrap_or(0)
    }

    /// The table as text, without an end of the last line. Columns are two spaces apart.
    pub fn text(&self, look: &TerminalStyle) -> String {
        let mut table = self.drawn(look.colour);
        table.set_content_arrangement(match look.width {
            Some(_) => ContentArrangement::Dynamic,
            None => ContentArrangement::Disabled,
        });
        if let Some(width) = look.width {
            table.set_width(width);
        }
        let mut headings = self.lines.iter().filter_map(|line| match line {
            Line::Group(title) => Some(escape::line(title)),
            Line::Fields(_) => None,
        });
        let mut text = String::new();
        for line in table.lines() {
            let heading = match line.trim() == HEADING {
                true => headings.next(),
                false => None,
            };
            let _ = match heading {
                Some(title) if look.colour => writeln!(text, "\u{1b}[1m{title}\u{1b}[0m"),
                Some(title) => writeln!(text, "{}", wrapped(&title, look.width)),
                None => writeln!(text, "{}", line.trim_end()),
            };
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn drawn(&self, colour: bool) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING);
        if colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let has_groups = self.lines.iter().any(|line| matches!(line, Line::Group(_)));
        table.set_header(self.columns.iter().map(|column| {
            let cell = Cell::new(escape::line(&column.title)).add_attribute(Attribute::Underlined);
            cell.set_alignment(alignment(column.right))
        }));
        for line in &self.lines {
            match line {
                Line::Group(_) => {
                    table.add_row([HEADING]);
                }
                Line::Fields(fields) => {
                    table.add_row(fields.iter().zip(&self.columns).enumerate().map(
                        |(number, (field, column))| {
                            let indent = if number == 0 && has_groups { "  " } else { "" };
                            let text = format!("{indent}{}", escape::line(&field.text));
                            let cell = Cell::new(text).set_alignment(alignment(column.right));
                            match field.tone {
                                Tone::Plain => cell,
                                Tone::Good => cell.fg(Color::Green),
                                Tone::Bad => cell.fg(Color::Red),
                                Tone::Changed => cell.fg(Color::Yellow),
                                Tone::Faint => cell.add_attribute(Attribute::Dim),
                            }
                        },
                    ));
                }
            }
        }
        if let Some(first) = table.column_mut(0) {
            first.set_padding((0, 1));
        }
        table
    }

    /// The table in Markdown, with an end of its last line.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let mut line = |fields: &[String]| {
            let _ = writeln!(text, "| {} |", fields.join(" | "));
        };
        let titles = self.columns.iter().map(|c| markdown::escaped(&c.title));
        line(&titles.collect::<Vec<_>>());
        let rules = self
            .columns
            .iter()
            .map(|column| if column.right { "---:" } else { "---" }.to_owned());
        line(&rules.collect::<Vec<_>>());
        for row in &self.lines {
            match row {
                Line::Group(title) => {
                    let mut fields = vec![String::new(); self.columns.len()];
                    if let Some(first) = fields.first_mut() {
                        *first = format!("**{}**", markdown::escaped(title));
                    }
                    line(&fields);
                }
                Line::Fields(fields) => {
                    line(&fields.iter().map(Field::markdown).collect::<Vec<_>>())
                }
            }
        }
        text
    }

    /// The table as an element of a page.
    pub fn html(&self) -> String {
        let mut text = "<table>\n<thead><tr>".to_owned();
        for column in &self.columns {
            let class = if column.right { " class=\"n\"" } else { "" };
            let title = escape::html(&column.title);
            let _ = write!(text, "<th scope=\"col\"{class}>{title}</th>");
        }
        text.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.lines {
            match row {
                Line::Group(title) => {
                    let (span, title) = (self.columns.len(), escape::html(title));
                    let _ = writeln!(
                        text,
                        "<tr class=\"head\"><th scope=\"rowgroup\" colspan=\"{span}\">{title}</th></tr>"
                    );
                }
                Line::Fields(fields) => {
                    text.push_str("<tr>");
                    for (field, column) in fields.iter().zip(&self.columns) {
                        let class = if column.right { " class=\"n\"" } else { "" };
                        let _ = write!(text, "<td{class}>{}</td>", field.html());
                    }
                    text.push_str("</tr>\n");
                }
            }
        }
        text.push_str("</tbody></table>\n");
        text
    }
}

fn alignment(right: bool) -> CellAlignment {
    match right {
        true => CellAlignment::Right,
        false => CellAlignment::Left,
    }
}

/// A text broken at spaces, further lines indented; one line where nothing is to be wrapped.
pub fn wrapped(line: &str, width: Option<u16>) -> String {
    let width = width.map_or(usize::MAX, usize::from);
    let (mut text, mut column) = (String::new(), 0);
    for word in line.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// As much of a text as a line holds.
pub fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

/// A table without lines for a terminal, columns two spaces apart and headings in capitals: as wide as the terminal; where
/// there is none each row is one line, easy to cut.
pub fn list_table(header: &[&str], width: Option<u16>) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(NOTHING);
    match width {
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    table.set_header(header.iter().map(|text| text.to_uppercase()));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(name: &str) -> Table {
        let mut table = Table::new(vec![left("cell"), right("difference")]);
        table.group("work");
        table.row(vec![field(name), field("+4.1 %").with_tone(Tone::Bad)]);
        table
    }

    #[test]
    fn a_table_is_drawn_as_text_markdown_and_page() {
        let table = table("a|b");
        assert_eq!(
            table.text(&TerminalStyle::default()),
            "cell   difference\nwork\n  a|b      +4.1 %"
        );
        assert_eq!(
            table.markdown(),
            "| cell | difference |\n| --- | ---: |\n| **work** |  |\n| a\\|b | **+4.1 %** |\n"
        );
        assert!(
            table
                .html()
                .contains("<td class=\"n\"><span class=\"bad\">+4.1 %</span></td>")
        );
    }

    proptest! {
        #[test]
        fn nothing_is_wrapped_or_cut_where_no_width_is_given(name in "[a-z ]{1,300}") {
            let name = name.trim();
            prop_assume!(!name.is_empty());
            let text = table(name).text(&TerminalStyle::default());
            prop_assert_eq!(text.lines().count(), 3);
            prop_assert!(text.contains(name));
        }

        #[test]
        fn a_row_is_a_line_whatever_is_in_it(name in ".{0,60}") {
            let table = table(&name);
            prop_assert_eq!(table.text(&TerminalStyle::default()).lines().count(), 3);
            prop_assert_eq!(table.markdown().lines().count(), 4);
        }
    }
}
