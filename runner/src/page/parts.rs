//! What all sections are made of: tables, figures, command lines.

use super::plot::{Drawing, Ink};
use crate::expect::Verdict;
use maud::{Markup, PreEscaped, html};

/// A table; the first column is text, the others are numbers.
pub(super) fn table(head: &[String], rows: &[Vec<String>]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { @for title in head { th scope="col" { (title) } } } }
            tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
        } }
    }
}

/// An entry of a legend.
pub(super) struct Key {
    pub(super) name: String,
    pub(super) ink: Ink,
    /// Whether it is drawn as a cross.
    pub(super) is_cross: bool,
}

/// A figure with its caption, for both widths.
pub(super) fn figure(title: &str, caption: &str, keys: &[Key], drawing: &Drawing) -> Markup {
    html! {
        figure {
            figcaption { strong { (title) } (caption) }
            @if !keys.is_empty() {
                ul.legend { @for key in keys { (self::key(key)) } }
            }
            div.wide { (PreEscaped(&drawing.wide)) }
            div.narrow { (PreEscaped(&drawing.narrow)) }
        }
    }
}

/// An entry of a legend.
pub(super) fn key(key: &Key) -> Markup {
    let colour = format!("var({})", key.ink.variable());
    html! {
        li {
            @if key.is_cross { i.cross style={ "color:" (colour) } { "\u{d7}" } }
            @else { i style={ "background:" (colour) } {} }
            (key.name)
        }
    }
}

/// The verdict in its colour.
pub(super) fn verdict(verdict: Verdict) -> Markup {
    html! { span class={ "verdict " (verdict.word()) } { (verdict.word()) } }
}

/// How to get the result again.
pub(super) fn repeat(command: &[String]) -> Markup {
    if command.is_empty() {
        return html! {};
    }
    let words = command.iter().map(|word| crate::shell::quoted(word)).collect::<Vec<_>>().join(" ");
    html! {
        h2 { "How to repeat it" }
        pre { code { "slicelab " (words) } }
    }
}

/// Names and values.
pub(super) fn list(entries: &[(String, String)]) -> Markup {
    html! { dl { @for (name, value) in entries { dt { (name) } dd { (value) } } } }
}
