//! A request to the live view: read within limits, and refused unless it comes from the page itself and knows the token.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of a request at most.
const MOST: usize = 16 << 10;
/// A request is complete after this time, or never.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The page.
    Page,
    /// What happens from now on.
    Events,
}

/// Why a request is refused: a status of HTTP and a sentence.
pub type Refusal = (&'static str, &'static str);

/// Reads the head of a request.
pub fn read(stream: &mut TcpStream) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 2048];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > MOST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => head.extend_from_slice(&part[..n]),
        }
    }
    String::from_utf8(head).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// What a request asks for, if it may: from this machine, by its own name (another site may have made a name of its own for this
/// address), from no other site, with the token.
pub fn asked(head: &str, port: u16, token: &str) -> Result<Asked, Refusal> {
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (first.next(), first.next().unwrap_or_default(), first.next());
    if !version.is_some_and(|version| version.starts_with("HTTP/1.")) {
        return Err(("400 Bad Request", "This is not a request of HTTP/1.1."));
    }
    if method != Some("GET") {
        return Err(("405 Method Not Allowed", "The live view can only be looked at."));
    }
    let fields: Vec<(&str, &str)> =
        lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim())).collect();
    let of = |name: &'static str| {
        fields.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| *v)
    };
    let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
    let is_own = |host: &str| hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
    let mut named = of("host");
    if !named.next().is_some_and(is_own) || named.next().is_some() {
        return Err(("403 Forbidden", "This host name is not that of the live view."));
    }
    if !of("origin").all(|origin| origin.strip_prefix("http://").is_some_and(is_own)) {
        return Err(("403 Forbidden", "Pages of other origins cannot see the live view."));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let given = query.split('&').filter_map(|part| part.strip_prefix("token="));
    if !given.into_iter().any(|given| is_same(given, token)) {
        return Err((
            "403 Forbidden",
            "The token is missing or wrong: open the address that the run has printed.",
        ));
    }
    match path {
        "/" => Ok(Asked::Page),
        "/events" => Ok(Asked::Events),
        _ => Err(("404 Not Found", "There is only one page.")),
    }
}

/// Takes as long for every text of this length.
fn is_same(given: &str, token: &str) -> bool {
    let differ = given.bytes().zip(token.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == token.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_itself_may_ask() {
        let check = |line: &str, fields: &str, expected: Result<Asked, &str>| {
            let head = format!("{line} HTTP/1.1\r\n{fields}\r\n\r\n");
            let found = asked(&head, 8080, "c0ffee").map_err(|(status, _)| &status[..3]);
            assert_eq!(found, expected, "{head}");
        };
        let own = "Host: 127.0.0.1:8080";
        check("GET /?token=c0ffee", own, Ok(Asked::Page));
        check("GET /events?theme=dark&token=c0ffee", "HOST: localhost:8080", Ok(Asked::Events));
        check(
            "GET /events?token=c0ffee",
            &format!("{own}\r\nOrigin: http://127.0.0.1:8080"),
            Ok(Asked::Events),
        );
        for origin in ["http://127.0.0.1:9090", "https://127.0.0.1:8080", "null", "http://evil.example", ""] {
            check("GET /events?token=c0ffee", &format!("{own}\r\norigin: {origin}"), Err("403"));
        }
        for host in
            ["", "Host: evil.example:8080", "Host: 127.0.0.1", "Host: 127.0.0.1:8080\r\nHost: evil.example"]
        {
            check("GET /?token=c0ffee", host, Err("403"));
        }
        for query in ["", "?token=", "?token=c0ffe", "?token=c0ffee0", "?token=c0ffef", "?Token=c0ffee"] {
            check(&format!("GET /{query}"), own, Err("403"));
        }
        check("GET /results.csv?token=c0ffee", own, Err("404"));
        check("POST /?token=c0ffee", own, Err("405"));
        check("OPTIONS /events?token=c0ffee", own, Err("405"));
        assert_eq!(asked("GET /", 8080, "c0ffee").unwrap_err().0, "400 Bad Request");
    }
}
