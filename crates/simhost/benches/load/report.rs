//! The figures, each beside its goal, printed as they come: a measurement takes its time.

/// A figure and its unit.
#[derive(Clone, Copy)]
pub enum Figure {
    Count(u64),
    PerSecond(f64),
    Seconds(f64),
    Ms(f64),
    /// Milliseconds for each of many.
    MsEach(f64),
    Mb(f64),
    Kb(f64),
    Cores(f64),
}

/// A group of figures.
pub fn heading(text: &str) {
    println!("\n{text}\n{:62} {:>14}   goal", "", "measured");
}

/// One figure.
pub fn line(what: &str, figure: Figure, goal: &str) {
    println!("{what:62} {:>14}   {goal}", text(figure));
}

/// The same measurements in several ways, a column for each, side by side.
pub fn table(title: &str, columns: &[(&str, Vec<(&str, Figure)>)]) {
    print!("\n{title}\n{:48}", "");
    for (way, _) in columns {
        print!(" {way:>16}");
    }
    println!();
    let Some((_, first)) = columns.first() else { return };
    for (row, (what, _)) in first.iter().enumerate() {
        print!("{what:48}");
        for (_, figures) in columns {
            let found = figures.get(row).map(|(_, figure)| text(*figure)).unwrap_or_default();
            print!(" {found:>16}");
        }
        println!();
    }
}

fn text(figure: Figure) -> String {
    match figure {
        Figure::Count(number) => format!("{number}"),
        Figure::PerSecond(rate) => format!("{rate:.0} /s"),
        Figure::Seconds(time) => format!("{time:.1} s"),
        Figure::Ms(time) => format!("{time:.1} ms"),
        Figure::MsEach(time) => format!("{time:.3} ms"),
        Figure::Mb(size) => format!("{size:.1} MB"),
        Figure::Kb(size) => format!("{size:.1} KB"),
        Figure::Cores(cores) => format!("{cores:.4} cores"),
    }
}

/// A time in milliseconds.
pub fn ms(time: std::time::Duration) -> Figure {
    Figure::Ms(time.as_secs_f64() * 1e3)
}
