//! The figures, each beside its goal.

/// Unit of a figure.
#[derive(Clone, Copy)]
pub enum Unit {
    PerSecond,
    Ms,
    MsEach,
    Mb,
    Cores,
}

/// Prints figures as they come: a measurement takes its time.
pub struct Report;

impl Report {
    /// A group of figures.
    pub fn heading(&mut self, text: &str) {
        println!("\n{text}\n{:62} {:>14}   goal", "", "measured");
    }

    /// One figure.
    pub fn line(&mut self, what: &str, unit: Unit, value: f64, goal: &str) {
        let shown = match unit {
            Unit::PerSecond => format!("{value:.0} /s"),
            Unit::Ms => format!("{value:.1} ms"),
            Unit::MsEach => format!("{value:.3} ms"),
            Unit::Mb => format!("{value:.1} MB"),
            Unit::Cores => format!("{value:.4} cores"),
        };
        println!("{what:62} {shown:>14}   {goal}");
    }
}
