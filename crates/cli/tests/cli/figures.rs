//! `bench --figures`: the pictures of the papers, and what happens where they cannot be written.

use crate::lab::{Lab, root};

/// `(file, text)` of all files that end like this.
fn files(folder: &std::path::Path, end: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut list: Vec<_> = entries
        .filter(|path| path.to_string_lossy().ends_with(end))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    list.sort();
    list
}

/// The gallery is what the command makes; `./test` draws rodriguez2022, too, which takes longer.
#[test]
fn the_gallery_is_what_the_command_draws() {
    let lab = Lab::new();
    let list = lab.powerbond(&["bench", "list", "--json"]).json();
    for paper in ["sadjina2017", "sadjina2020", "arnold2013", "rodriguez2022"] {
        let suite = list["suites"].as_array().unwrap().iter().find(|s| s["name"] == paper).unwrap().clone();
        let ids: Vec<&str> =
            suite["figures"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect();
        let gallery = files(&root().join("docs/papers").join(paper), ".svg");
        let mut expected: Vec<String> = ids.iter().map(|id| format!("{id}.svg")).collect();
        expected.sort();
        assert_eq!(gallery.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), expected);
        let page = std::fs::read_to_string(root().join("docs/papers/README.md")).unwrap();
        assert!(expected.iter().all(|name| page.contains(&format!("({paper}/{name})"))), "{paper}");
        let only: &[&str] = if paper == "rodriguez2022" { &["--only", "fig9"] } else { &[] };
        let ran = lab.powerbond(&[&["bench", paper, "--figures", paper], only].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        for (name, text) in files(&lab.dir.join(paper), ".svg") {
            let kept = &gallery.iter().find(|(kept, _)| *kept == name).unwrap().1;
            assert_eq!(
                *kept, text,
                "docs/papers/{paper}/{name}: draw it anew with `powerbond bench {paper} --figures`"
            );
        }
    }
}

/// Every point of a curve is in the table: figure 8 has as many as steps were made, and ends at the printed energies.
#[test]
fn tables_have_what_pictures_show() {
    let lab = Lab::new();
    let ran = lab.powerbond(&["bench", "sadjina2017", "--figures", "here", "--only", "fig8", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json()["figures"][0]["id"], "fig8");
    let text = std::fs::read_to_string(lab.dir.join("here/fig8.csv")).unwrap();
    let last = |curve: &str| {
        let rows: Vec<&str> = text.lines().filter(|line| line.contains(curve)).collect();
        (rows.len(), rows.last().unwrap().rsplit(',').next().unwrap().parse::<f64>().unwrap())
    };
    // Table III: 6.4 and 1.6 J.
    let ((constant, plain), (adaptive, ecco)) = (last("constant step"), last("ECCO"));
    assert!((constant, adaptive) == (4000, 4000), "{constant} {adaptive}");
    assert!((plain - 6.4).abs() <= 0.05 && (ecco - 1.6).abs() <= 0.05, "{plain} {ecco}");
}

#[test]
fn what_cannot_be_drawn_or_written_is_told() {
    let lab = Lab::new();
    let draw = |arguments: &[&str]| lab.powerbond(&[&["bench"], arguments].concat());
    for (arguments, code, said) in [
        (&["verdict", "--figures", "x"][..], 3, "verdict has no figures. Suites with figures: sadjina2017"),
        (
            &["sadjina2017", "--figures", "x", "--only", "fig44"],
            3,
            "no figure of sadjina2017 contains `fig44`",
        ),
        (&["sadjina2017", "--overwrite"], 2, "--figures"),
    ] {
        let ran = draw(arguments);
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(ran.err.contains(said), "`{said}` in {}", ran.err);
    }
    assert!(!lab.dir.join("x").exists(), "nothing is made before it is known that something is drawn");
    // A file where the folder should be.
    lab.write("file", "mine");
    let ran = draw(&["arnold2013", "--figures", "file"]);
    assert_eq!(ran.code, 8, "{}", ran.err);
    assert!(
        ran.err.contains("cannot write file: a file of this name is there. Name a folder"),
        "{}",
        ran.err
    );
    // A file of the user's of that name; figures themselves are replaced.
    assert_eq!(draw(&["arnold2013", "--figures", "here", "--only", "fig5-k0"]).code, 0);
    assert_eq!(draw(&["arnold2013", "--figures", "here", "--only", "fig5-k0"]).code, 0);
    lab.write("here/fig5-k0.csv", "mine");
    let ran = draw(&["arnold2013", "--figures", "here", "--only", "fig5"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("fig5-k0.csv") && ran.err.contains("--overwrite"), "{}", ran.err);
    assert!(!lab.dir.join("here/fig5-k1.svg").exists(), "refused before anything is drawn");
    assert_eq!(std::fs::read_to_string(lab.dir.join("here/fig5-k0.csv")).unwrap(), "mine");
    assert_eq!(draw(&["arnold2013", "--figures", "here", "--only", "fig5", "--overwrite"]).code, 0);
}
