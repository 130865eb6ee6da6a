//! Numbers as people read them.

/// 12345678 as "12 345 678" (with thin spaces).
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
}

/// A force with steady digits: "0.0 N", "12.3 N", "123 N", "4.56 kN".
pub fn force(newtons: f64) -> String {
    match newtons.abs() {
        f if f < 99.95 => format!("{newtons:.1} N"),
        f if f < 999.5 => format!("{newtons:.0} N"),
        f if f < 999_500.0 => format!("{:.2} kN", newtons / 1e3),
        _ => format!("{:.2} MN", newtons / 1e6),
    }
}

pub fn mass(kilograms: f64) -> String {
    match kilograms.abs() {
        m if m < 1e-3 => format!("{:.1} mg", kilograms * 1e6),
        m if m < 1.0 => format!("{:.1} g", kilograms * 1e3),
        m if m < 1e3 => format!("{} kg", significant(kilograms)),
        _ => format!("{} t", significant(kilograms / 1e3)),
    }
}

pub fn milliseconds(ms: f64) -> String {
    match ms {
        t if t < 10.0 => format!("{ms:.2} ms"),
        t if t < 100.0 => format!("{ms:.1} ms"),
        t if t < 1e4 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

/// A rough time, in words: "0.5 s", "20 s", "3 min", "2.8 h".
pub fn duration(seconds: f64) -> String {
    match seconds {
        t if t < 9.95 => format!("{} s", short((10.0 * t).round() / 10.0)),
        t if t < 99.5 => format!("{t:.0} s"),
        t if t < 5970.0 => format!("{:.0} min", t / 60.0),
        t => format!("{:.1} h", t / 3600.0),
    }
}

/// A small length: gaps and errors.
pub fn length(meters: f64) -> String {
    match meters.abs() {
        0.0 => "0 µm".to_owned(),
        m if m < 1e-3 => format!("{} µm", significant(meters * 1e6)),
        m if m < 1.0 => format!("{} mm", significant(meters * 1e3)),
        _ => format!("{} m", significant(meters)),
    }
}

/// How many times real time.
pub fn factor(x: f64) -> String {
    match x {
        x if x < 0.0995 => format!("{x:.3}×"),
        x if x < 0.995 => format!("{x:.2}×"),
        _ => format!("{x:.1}×"),
    }
}

/// A quantity in a unit of SI, in thousands or thousandths of it where that reads better.
pub fn quantity(value: f64, unit: &str) -> String {
    if unit.is_empty() || value == 0.0 {
        return format!("{} {unit}", significant(value)).trim_end().to_owned();
    }
    let (scale, unit) = scale_of(value, unit);
    format!("{} {unit}", significant(value / scale))
}

/// The unit with the prefix that suits a value, and how much it is; that of a mere number is 1.
pub fn scale_of(value: f64, unit: &str) -> (f64, String) {
    if unit.is_empty() || value == 0.0 {
        return (1.0, unit.to_owned());
    }
    let scales = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")];
    let (scale, prefix) = scales.into_iter().find(|(scale, _)| value.abs() >= 0.9995 * scale).unwrap_or((1e-6, "µ"));
    (scale, format!("{prefix}{unit}"))
}

/// Three significant digits, less zeros at the end: "5", "0.25".
pub fn short(x: f64) -> String {
    let text = significant(x);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Three significant digits.
pub fn significant(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        a if !(0.001..99_999.5).contains(&a) => format!("{x:.1e}"),
        a if a < 9.995 => format!("{x:.2}"),
        a if a < 99.95 => format!("{x:.1}"),
        _ => format!("{x:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!([5.0, 0.25, 10.0, 100.0, 0.0].map(short), ["5", "0.25", "10", "100", "0"]);
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1\u{2009}234\u{2009}567");
        assert_eq!(force(0.04), "0.0 N");
        assert_eq!(force(99.96), "100 N");
        assert_eq!(force(2500.0), "2.50 kN");
        assert_eq!(mass(0.25), "250.0 g");
        assert_eq!(mass(12.34), "12.3 kg");
        assert_eq!(mass(1234.0), "1.23 t");
        assert_eq!(milliseconds(3.456), "3.46 ms");
        assert_eq!(milliseconds(12_345.0), "12.3 s");
        assert_eq!([0.5, 9.0, 20.4, 99.6, 180.0, 10_000.0].map(duration), ["0.5 s", "9 s", "20 s", "2 min", "3 min", "2.8 h"]);
        assert_eq!(length(4.2e-6), "4.20 µm");
        assert_eq!(factor(0.5), "0.50×");
        assert_eq!(factor(0.004), "0.004×");
        assert_eq!(significant(1.0e-7), "1.0e-7");
        assert_eq!(quantity(12_345.0, "Pa"), "12.3 kPa");
        assert_eq!(quantity(-0.0123, "m"), "-12.3 mm");
        assert_eq!((quantity(0.0, "m/s"), quantity(0.25, "")), ("0 m/s".to_owned(), "0.25".to_owned()));
    }
}
