//! Machine models: what a machine's own doings take, with the source of each figure.
//!
//! ```toml
//! about = "what kind of machine"
//!
//! [ipi_send]              # any of the costs that `abi::Cost` names
//! time = "700ns"
//! source = "where the figure is from"     # or: fitted = "to what"
//! ```
//!
//! A figure without either is refused: nobody can argue about it. `ipi_send = "700ns"` is for
//! trying things out.

use crate::{
    cli::unknown,
    source::{At, Source},
    units,
};
use abi::{Cost, Costs};
use std::{fmt, fs, ops::Range, str::FromStr};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The models that come along, by name.
const BUILT_IN: [(&str, &str); 2] = [
    ("skl", include_str!("../data/models/skl.toml")),
    ("spr", include_str!("../data/models/spr.toml")),
];

/// Bytes that a model may have; more is another kind of file.
const MOST_BYTES: u64 = 1 << 20;

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// What it is called: its name or its file's.
    pub name: String,
    /// What kind of machine it is.
    pub about: String,
    /// What its doings take.
    pub costs: Costs,
    /// Where each figure is from, in the order of the file.
    pub origins: Vec<(Cost, Origin)>,
}

/// Where a figure is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Somebody measured or specified it.
    Source(String),
    /// It makes the laboratory's results like others.
    Fitted(String),
    /// Nobody said.
    Untold,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(source) => write!(f, "{source}"),
            Self::Fitted(to) => write!(f, "fitted: {to}"),
            Self::Untold => write!(f, "nobody said"),
        }
    }
}

impl Model {
    /// The names of those that come along.
    pub fn names() -> [&'static str; BUILT_IN.len()] {
        BUILT_IN.map(|(name, _)| name)
    }

    /// Those that come along.
    pub fn built_in() -> [Self; BUILT_IN.len()] {
        BUILT_IN.map(|(name, text)| {
            Self::parse(name, text).expect("a test reads those that come along")
        })
    }

    /// Whether a text names one that comes along, and no file.
    pub fn is_built_in(name: &str) -> bool {
        Self::names().contains(&name)
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let source = Source { name, text };
        let refuse = |at: Range<usize>, reason: &str| {
            let at = At(u32::try_from(at.start).unwrap_or(u32::MAX));
            format!("{name}:{}: {reason}\n{}", source.position(at), source.excerpt(at).trim_end())
        };
        let table = DeTable::parse(text)
            .map_err(|error| refuse(error.span().unwrap_or_default(), error.message()))?;
        let mut model = Self {
            name: name.into(),
            about: String::new(),
            costs: Costs::default(),
            origins: Vec::new(),
        };
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("about", DeValue::String(about)) => model.about = about.to_string(),
                ("about", _) => return Err(refuse(value.span(), "must be a text")),
                (name, _) => {
                    let Some(cost) = Cost::parse(name) else {
                        let known = Cost::ALL.map(Cost::name);
                        return Err(refuse(
                            key.span(),
                            &format!("{name} is {}", unknown(name, &known)),
                        ));
                    };
                    let (ns, origin) = figure(value).map_err(|(at, reason)| refuse(at, &reason))?;
                    model.costs = model.costs.with(cost, ns);
                    model.origins.push((cost, origin));
                }
            }
        }
        Ok(model)
    }
}

impl FromStr for Model {
    type Err = String;

    /// By name or by file.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((name, text)) = BUILT_IN.into_iter().find(|&(name, _)| name == text) {
            return Self::parse(name, text);
        }
        let known =
            || format!("name a file, or one that comes along: {}", Self::names().join(", "));
        let length =
            fs::metadata(text).map_err(|error| format!("cannot be read ({error}); {}", known()))?;
        if length.len() > MOST_BYTES {
            return Err(format!("has {} bytes, which is no model; {}", length.len(), known()));
        }
        let file = fs::read_to_string(text)
            .map_err(|error| format!("cannot be read ({error}); {}", known()))?;
        Self::parse(text, &file)
    }
}

/// What is wrong, and where.
type Fault = (Range<usize>, String);

/// A time, or a table with a time and where it is from.
fn figure(value: &Spanned<DeValue<'_>>) -> Result<(u32, Origin), Fault> {
    let table = match value.get_ref() {
        DeValue::Table(table) => table,
        _ => return Ok((time(value)?, Origin::Untold)),
    };
    let (mut ns, mut origin) = (None, None);
    for (key, value) in table {
        let text = || match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text.to_string()),
            _ => Err((value.span(), "must be a text".to_owned())),
        };
        match key.get_ref().as_ref() {
            "time" => ns = Some(time(value)?),
            "source" if origin.is_none() => origin = Some(Origin::Source(text()?)),
            "fitted" if origin.is_none() => origin = Some(Origin::Fitted(text()?)),
            "source" | "fitted" => {
                return Err((
                    key.span(),
                    "is it measured (source) or fitted? Leave one out".into(),
                ));
            }
            name => {
                let reason = format!("{name} is {}", unknown(name, &["time", "source", "fitted"]));
                return Err((key.span(), reason));
            }
        }
    }
    match (ns, origin) {
        (Some(ns), Some(origin)) => Ok((ns, origin)),
        (None, _) => Err((value.span(), "lacks its time, such as time = \"700ns\"".into())),
        (_, None) => {
            let reason =
                "says not where its figure is from: add source = \"...\" or fitted = \"to what\"";
            Err((value.span(), reason.into()))
        }
    }
}

fn time(value: &Spanned<DeValue<'_>>) -> Result<u32, Fault> {
    let DeValue::String(text) = value.get_ref() else {
        return Err((value.span(), "must be a time in quotes, such as \"700ns\"".into()));
    };
    cost_time(text).map_err(|reason| (value.span(), reason))
}

/// Reads what something takes.
///
/// # Errors
/// It is no time, or too long a one.
pub fn cost_time(text: &str) -> Result<u32, String> {
    let ns = units::parse(text).map_err(|error| error.to_string())?;
    u32::try_from(ns).ok().filter(|&ns| ns <= Costs::MAX_NS).ok_or_else(|| {
        format!("{text} is too long: at most {}", units::exact_unsigned(Costs::MAX_NS.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Model::parse("m.toml", text).expect_err("must be refused")
    }

    #[test]
    fn a_model_names_costs_and_where_they_are_from() {
        let text = "about = \"old\"\nipi_send = \"1.5us\"\n[idle_exit]\ntime = \"2us\"\nsource = \"a table\"\n";
        let model = Model::parse("m.toml", text).expect("it is good");
        assert_eq!((model.about.as_str(), model.name.as_str()), ("old", "m.toml"));
        let costs = Costs::default().with(Cost::IpiSend, 1500).with(Cost::IdleExit, 2000);
        assert_eq!(model.costs, costs);
        let source = Origin::Source("a table".into());
        assert_eq!(model.origins, [(Cost::IpiSend, Origin::Untold), (Cost::IdleExit, source)]);
    }

    #[test]
    fn those_that_come_along_say_where_each_figure_is_from() {
        for model in Model::built_in() {
            let name = &model.name;
            assert!(!model.about.is_empty() && !model.costs.is_free(), "{name}");
            let told = |(_, origin): &(Cost, Origin)| *origin != Origin::Untold;
            assert!(model.origins.iter().all(told), "{name}");
        }
    }

    #[test]
    fn faults_have_a_place_and_say_what_is_right() {
        let text = refused("about = \"x\"\nipi_sent = \"1us\"\n");
        assert!(
            text.starts_with("m.toml:2:1: ipi_sent is unknown; did you mean ipi_send?"),
            "{text}"
        );
        assert!(text.contains("2 | ipi_sent = \"1us\""), "{text}");
        for (text, reason) in [
            ("ipi_send = 5", "must be a time in quotes"),
            ("ipi_send = \"2ms\"", "2ms is too long: at most 1ms"),
            ("ipi_send = \"-2us\"", "negative"),
            ("ipi_send = \"soon\"", "m.toml:1:12"),
            ("[ipi_send]\nsource = \"x\"", "lacks its time"),
            ("[ipi_send]\ntime = \"1us\"", "says not where"),
            ("[ipi_send]\ntime = \"1us\"\nsource = \"\"", "must be a text"),
            ("[ipi_send]\ntime = \"1us\"\nsource = \"x\"\nfitted = \"y\"", "Leave one out"),
            ("[ipi_send]\ntime = \"1us\"\nfited = \"y\"", "did you mean fitted?"),
            ("about = 1", "must be a text"),
            ("ipi_send = \"1us\"\nipi_send = \"1us\"", "duplicate key"),
            ("ipi_send", "m.toml:1:"),
        ] {
            assert!(refused(text).contains(reason), "{text}: {}", refused(text));
        }
        let missing = "no/such/file".parse::<Model>().expect_err("it is not there");
        assert!(missing.contains("cannot be read") && missing.contains("skl, spr"), "{missing}");
    }
}
