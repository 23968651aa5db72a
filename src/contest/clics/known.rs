//! What CLICS calls by well-known identifiers.

/// Judgement types (Contest API, "Known judgement types"): id and name.
pub const JUDGEMENT_TYPES: [(&str, &str); 33] = [
    ("AC", "Accepted"),
    ("RE", "Rejected"),
    ("WA", "Wrong Answer"),
    ("TLE", "Time Limit Exceeded"),
    ("RTE", "Run-Time Error"),
    ("CE", "Compile Error"),
    ("APE", "Accepted - Presentation Error"),
    ("OLE", "Output Limit Exceeded"),
    ("PE", "Presentation Error"),
    ("EO", "Excessive Output"),
    ("IO", "Incomplete Output"),
    ("NO", "No Output"),
    ("WTL", "Wallclock Time Limit Exceeded"),
    ("ILE", "Idleness Limit Exceeded"),
    ("TCO", "Time Limit Exceeded - Correct Output"),
    ("TWA", "Time Limit Exceeded - Wrong Answer"),
    ("TPE", "Time Limit Exceeded - Presentation Error"),
    ("TEO", "Time Limit Exceeded - Excessive Output"),
    ("TIO", "Time Limit Exceeded - Incomplete Output"),
    ("TNO", "Time Limit Exceeded - No Output"),
    ("MLE", "Memory Limit Exceeded"),
    ("SV", "Security Violation"),
    ("IF", "Illegal Function"),
    ("RCO", "Run-Time Error - Correct Output"),
    ("RWA", "Run-Time Error - Wrong Answer"),
    ("RPE", "Run-Time Error - Presentation Error"),
    ("REO", "Run-Time Error - Excessive Output"),
    ("RIO", "Run-Time Error - Incomplete Output"),
    ("RNO", "Run-Time Error - No Output"),
    ("CTL", "Compile Time Limit Exceeded"),
    ("JE", "Judging Error"),
    ("SE", "Submission Error"),
    ("CS", "Contact Staff"),
];

/// The name of a well-known judgement type.
pub fn judgement_type(id: &str) -> Option<&'static str> {
    let known = JUDGEMENT_TYPES.iter().find(|(known, _)| *known == id);
    known.map(|(_, name)| *name)
}

/// The name and the file extensions of a well-known language (Contest API, "Known languages").
pub fn language(id: &str) -> Option<(&'static str, &'static [&'static str])> {
    Some(match id {
        "ada" => ("Ada", &["adb", "ads"]),
        "c" => ("C", &["c"]),
        "cpp" => ("C++", &["cc", "cpp", "cxx", "c++", "C"]),
        "csharp" => ("C#", &["cs"]),
        "go" => ("Go", &["go"]),
        "haskell" => ("Haskell", &["hs"]),
        "java" => ("Java", &["java"]),
        "javascript" => ("JavaScript", &["js"]),
        "kotlin" => ("Kotlin", &["kt"]),
        "objectivec" => ("Objective-C", &["m"]),
        "pascal" => ("Pascal", &["pas"]),
        "php" => ("PHP", &["php"]),
        "prolog" => ("Prolog", &["pl"]),
        "python2" => ("Python 2", &["py"]),
        "python3" => ("Python 3", &["py"]),
        "ruby" => ("Ruby", &["rb"]),
        "rust" => ("Rust", &["rs"]),
        "scala" => ("Scala", &["scala"]),
        _ => return None,
    })
}

/// The language of a submission that came without one.
pub const LANGUAGE_UNKNOWN: &str = "unknown";
