//! Lines and tables that fit the terminal.

use crate::terminal;

/// Lines that are too long for stdout continue below their own text.
pub fn wrap(text: &str) -> String {
    wrap_to(text, terminal::width())
}

/// As [`wrap`], for stderr.
pub fn wrap_for_errors(text: &str) -> String {
    wrap_to(text, terminal::width_of_errors())
}

/// Breaks lines at spaces. A line continues behind what leads it: an indent, a dash, an arrow, or a name in a column of its own. Words
/// that are longer than a line, such as paths, stay whole.
fn wrap_to(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if line.chars().count() <= width {
            out += line;
        } else {
            break_line(line, width, &mut out);
        }
        out += end;
    }
    out
}

/// Where the lines after the first one begin.
fn hang(line: &str, width: usize) -> usize {
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let rest: Vec<char> = line.chars().skip(indent).collect();
    if matches!(rest.as_slice(), ['-' | '→' | '*', ' ', ..]) {
        return indent + 2;
    }
    // A name, and what is said of it behind two spaces or more.
    let gap = rest.windows(2).position(|pair| pair == [' ', ' ']);
    let text = gap.and_then(|gap| Some(gap + rest[gap..].iter().position(|c| *c != ' ')?));
    text.map(|text| indent + text).filter(|&at| at <= width / 2).unwrap_or(indent + 2)
}

/// Words, of which those that belong together are one: `0.7 %`, `t = 2 ms`.
fn glued(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let joins = |last: &String| {
            let before = last.chars().next_back();
            !last.is_empty()
                && (word.starts_with('%') || word == "=" || (before == Some('=') && !word.is_empty()))
        };
        let is_unit = |last: &String| {
            let number = last.rsplit(' ').next().is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
            let letters = word.trim_end_matches(['.', ',', ';', ')', ':']);
            number && (1..=2).contains(&letters.chars().count()) && letters.ends_with(['s', 'J', 'W', 'B'])
        };
        match words.last_mut().filter(|last| joins(last) || is_unit(last)) {
            Some(last) => {
                last.push(' ');
                *last += word;
            }
            None => words.push(word.to_owned()),
        }
    }
    words
}

fn break_line(line: &str, width: usize, out: &mut String) {
    let hang = hang(line, width);
    let mut column = 0;
    let mut spaces = 0;
    let words = glued(line);
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let length = word.chars().count();
        if column + spaces + length > width && column > hang && length > 0 {
            out.push('\n');
            *out += &" ".repeat(hang);
            (column, spaces) = (hang, 0);
        }
        if length > 0 {
            *out += &" ".repeat(spaces);
            *out += word;
            (column, spaces) = (column + spaces + length, 0);
        }
        spaces += usize::from(words.peek().is_some());
    }
}

/// Lines of cells with aligned columns, below a header: the first column and columns of words to the left, those where half of the
/// cells or more begin with a number to the right. Control characters, which names of other tools may have, are shown and not printed.
///
/// What is too wide for the terminal gets narrower: first the space between columns, then headers and words in several lines, and
/// in the end columns that are left over follow below, beside the first one again.
pub fn table(rows: &[Vec<String>]) -> String {
    table_in(rows, false, terminal::width())
}

/// A table whose last column, remarks, is to the left whatever it says.
pub fn table_with_remarks(rows: &[Vec<String>]) -> String {
    table_in(rows, true, terminal::width())
}

fn table_in(rows: &[Vec<String>], remarks: bool, width: usize) -> String {
    let shown = |cell: &String| match cell.contains(char::is_control) {
        true => cell.escape_debug().to_string(),
        false => cell.clone(),
    };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let words = |c: usize| c == 0 || (remarks && c + 1 == columns);
    let columns: Vec<Column> = (0..columns).map(|c| Column::of(&rows, c, words(c))).collect();
    let natural: Vec<usize> = columns.iter().map(|c| c.natural).collect();
    if total(&natural, WIDE) <= width {
        return draw(&rows, &columns, &(0..columns.len()).collect::<Vec<_>>(), &natural, WIDE);
    }
    let drawn = |block: &Vec<usize>| {
        let widths = fit(&block.iter().map(|&c| &columns[c]).collect::<Vec<_>>(), width);
        draw(&rows, &columns, block, &widths, NARROW)
    };
    blocks(&columns, width).iter().map(drawn).collect::<Vec<_>>().join("\n")
}

/// Which columns stand side by side: all of them if they fit when they are as narrow as they can be, else as few blocks as
/// possible, about equally many in each. The first column is in every block.
fn blocks(columns: &[Column], width: usize) -> Vec<Vec<usize>> {
    let others: Vec<usize> = (1..columns.len()).collect();
    let with_first = |part: &[usize]| [&[0], part].concat();
    let fits = |part: &[usize]| {
        let least: Vec<usize> = with_first(part).iter().map(|&c| columns[c].least).collect();
        part.len() <= 1 || total(&least, NARROW) <= width
    };
    for n in 1..=others.len() {
        let parts: Vec<&[usize]> = others.chunks(others.len().div_ceil(n)).collect();
        if parts.iter().all(|part| fits(part)) {
            return parts.into_iter().map(with_first).collect();
        }
    }
    vec![vec![0]]
}

/// Spaces between columns, where there is room and where there is not.
const WIDE: usize = 3;
const NARROW: usize = 2;
/// Cells of so few characters are not broken.
const BRIEF: usize = 18;
/// Words that are longer than this are broken where there is no other way; names in the first column, which are copied, later.
const LONGEST: usize = 30;
const LONGEST_NAME: usize = 48;

struct Column {
    natural: usize,
    /// It can be as narrow as this.
    least: usize,
    is_numbers: bool,
}

impl Column {
    fn of(rows: &[Vec<String>], c: usize, is_words: bool) -> Self {
        let cells = || rows.iter().skip(1).filter_map(|row| row.get(c)).filter(|cell| !cell.is_empty());
        let is_number = |cell: &&String| {
            let digits = cell.trim_start_matches(['+', '-', '−', '±', '<', '>', '≤', '≥', '≈', '×', ' ']);
            // Sentences may begin with a number, too.
            digits.starts_with(|c: char| c.is_ascii_digit()) && cell.split(' ').count() <= 5
        };
        let (all, numbers) = (cells().count(), cells().filter(is_number).count());
        let is_numbers = !is_words && numbers > 0 && 2 * numbers >= all;
        let length = |cell: &String| cell.chars().count();
        let longest = if c == 0 { LONGEST_NAME } else { LONGEST };
        let longest_word =
            |cell: &String| cell.split(' ').map(|w| w.chars().count()).max().unwrap_or(0).min(longest);
        let header = rows.first().and_then(|row| row.get(c)).map_or(0, longest_word);
        let brief = |cell: &String| is_numbers || (length(cell) <= BRIEF && c > 0);
        let least = cells().map(|cell| if brief(cell) { length(cell) } else { longest_word(cell) }).max();
        let natural = rows.iter().filter_map(|row| row.get(c)).map(length).max().unwrap_or(0);
        Column { natural, least: least.unwrap_or(0).max(header), is_numbers }
    }
}

fn total(widths: &[usize], gap: usize) -> usize {
    2 + widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)
}

/// The widest columns that can be narrower become so, until all of them fit; the first one only in the end.
fn fit(columns: &[&Column], width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|c| c.natural).collect();
    while total(&widths, NARROW) > width {
        let shrinks = (0..widths.len()).filter(|&i| widths[i] > columns[i].least);
        // Names stay whole as long as anything else can give way.
        let Some(widest) = shrinks.max_by_key(|&i| (i > 0, widths[i])) else { break };
        widths[widest] -= 1;
    }
    widths
}

/// A cell in lines of a width.
fn lines(cell: &str, width: usize) -> Vec<String> {
    if cell.chars().count() <= width {
        return vec![cell.to_owned()];
    }
    let mut lines = vec![String::new()];
    let mut room = width;
    for word in cell.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        let needed = word.len() + usize::from(room < width);
        if needed > room && room < width {
            lines.push(String::new());
            room = width;
        }
        if room < width {
            lines.last_mut().into_iter().for_each(|line| line.push(' '));
            room -= 1;
        }
        while word.len() > width.max(1) && word.len() > room {
            let rest = word.split_off(room.max(1));
            lines.last_mut().into_iter().for_each(|line| line.extend(&word));
            lines.push(String::new());
            (word, room) = (rest, width);
        }
        room = room.saturating_sub(word.len());
        lines.last_mut().into_iter().for_each(|line| line.extend(&word));
    }
    lines
}

fn draw(rows: &[Vec<String>], columns: &[Column], block: &[usize], widths: &[usize], gap: usize) -> String {
    let mut out = String::new();
    for (r, row) in rows.iter().enumerate() {
        let cells: Vec<Vec<String>> = block
            .iter()
            .zip(widths)
            .map(|(&c, &width)| row.get(c).map_or_else(Vec::new, |cell| lines(cell, width)))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for l in 0..height {
            let mut line = String::new();
            for (k, cell) in cells.iter().enumerate() {
                // Headers stand on the line above the table.
                let above = if r == 0 { height - cell.len() } else { 0 };
                let text = l.checked_sub(above).and_then(|l| cell.get(l)).map_or("", String::as_str);
                let pad = " ".repeat(widths[k].saturating_sub(text.chars().count()));
                line += &" ".repeat(if k == 0 { 2 } else { gap });
                line += &if columns[block[k]].is_numbers { pad + text } else { format!("{text}{pad}") };
            }
            out += line.trim_end();
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn words_stand_to_the_left_and_numbers_to_the_right() {
        let rows =
            rows(&[&["name", "class", "steps"], &["a", "A: takes values", "1048"], &["long", "B", "7"]]);
        let text = "  name   class             steps\n  a      A: takes values    1048\n  long   B                     7\n";
        assert_eq!(table_in(&rows, false, 80), text);
    }

    #[test]
    fn words_wrap_in_their_cells_and_columns_without_room_follow_below() {
        let wide = rows(&[
            &["name", "class", "steps"],
            &["a", "A: takes values and much more", "1048"],
            &["long", "B", "7"],
        ]);
        let text = "  name  class      steps\n  a     A: takes    1048\n        values\n        and much\n        more\n  long  B              7\n";
        assert_eq!(table_in(&wide, false, 24), text);
        let numbers = rows(&[&["name", "first", "the second one"], &["a", "12345678 J", "12345678 W"]]);
        let text = "  name       first\n  a     12345678 J\n\n          the second\n  name           one\n  a       12345678 W\n";
        assert_eq!(table_in(&numbers, false, 20), text);
    }

    #[test]
    fn every_table_fits_whatever_the_width() {
        let name = "a_name_that_is_longer_than_any_column_should_be.and_goes_on";
        let rows = rows(&[
            &["output", "error", "what is said about it", "steps", "at most"],
            &[name, "0.25 %", "a sentence of some words, which wraps", "123456", "12.5 kW at 8.349 s"],
            &["b", "12 %", "short", "7", "1 W at 0 s"],
        ]);
        for width in 70..200 {
            assert!(widest(&table_in(&rows, false, width)) <= width, "{width}");
        }
        assert_eq!(table_in(&rows, false, 400).lines().count(), 3);
    }

    #[test]
    fn lines_continue_below_their_text() {
        for (line, width, text) in [
            ("CHECK: error about 1 %, worst at `a`", 20, "CHECK: error about\n  1 %, worst at `a`"),
            ("  - `a`: a mean error", 14, "  - `a`: a\n    mean error"),
            (
                "  method      jacobi, hold 0, controller",
                30,
                "  method      jacobi, hold 0,\n              controller",
            ),
            ("short\n", 20, "short\n"),
            ("/a/path/that/is/longer/than/a/line", 10, "/a/path/that/is/longer/than/a/line"),
            ("words with spaces", 10, "words with\n  spaces"),
            ("about 0.7 %, at t = 2 ms", 8, "about\n  0.7 %,\n  at\n  t = 2 ms"),
        ] {
            assert_eq!(wrap_to(line, width), text);
        }
    }
}
