//! Keys of the user while a chart is shown.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

use super::Command;

/// The command of a key, if it has one.
#[must_use]
pub fn command(key: KeyEvent) -> Option<Command> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c' | 'd')).then_some(Command::End);
    }
    match key.code {
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Command::End),
        KeyCode::Char('h' | 'H') => Some(Command::SwitchRate),
        KeyCode::Char('l' | 'L') => Some(Command::SwitchLoss),
        KeyCode::Char('t' | 'T') => Some(Command::OneTcpMore),
        _ => None,
    }
}

/// The keys that the user presses, read by a thread of their own until this is dropped.
#[derive(Debug)]
pub struct Keys {
    commands: mpsc::UnboundedReceiver<Command>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    /// Begins to read.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn read() -> io::Result<Self> {
        let (sender, commands) = mpsc::unbounded_channel();
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let terminal = Terminal::open()?;
        let thread = std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let command = match terminal.look() {
                    Ok(Seen::Nothing) => continue,
                    Ok(Seen::Input) => match event::read() {
                        Ok(Event::Key(key)) => command(key),
                        Ok(_) => None,
                        Err(_) => break,
                    },
                    // Nobody sees the run any more, and nobody can end it with a key.
                    Ok(Seen::Gone) => {
                        let _ = sender.send(Command::End);
                        break;
                    }
                    Err(_) => break,
                };
                if command.is_some_and(|command| sender.send(command).is_err()) {
                    break;
                }
            }
        })?;
        Ok(Self { commands, ended, thread: Some(thread) })
    }

    /// Waits for the next command; indefinitely if no key can be read.
    pub async fn next(&mut self) -> Command {
        match self.commands.recv().await {
            Some(command) => command,
            None => std::future::pending().await,
        }
    }

    /// The next command that has been given already, if there is one.
    pub fn given(&mut self) -> Option<Command> {
        self.commands.try_recv().ok()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        // A terminal that goes away in mid-read may hold the thread indefinitely: it ends with the
        // process.
        let begun = std::time::Instant::now();
        while !thread.is_finished() && begun.elapsed() < LOOK * 4 {
            std::thread::sleep(LOOK / 10);
        }
    }
}

/// Time within which the thread notices that nobody wants keys any more.
const LOOK: Duration = Duration::from_millis(50);

/// The terminal that keys come from.
struct Terminal {
    #[cfg(unix)]
    fd: std::os::fd::OwnedFd,
}

/// State of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// It has been closed.
    #[cfg_attr(not(unix), expect(dead_code, reason = "seen by poll alone"))]
    Gone,
    /// A key, or another event.
    Input,
    Nothing,
}

impl Terminal {
    /// The terminal from which keys are read: standard input, or that of the process.
    #[cfg(unix)]
    fn open() -> io::Result<Self> {
        use std::io::IsTerminal;
        use std::os::fd::AsFd;
        let stdin = io::stdin();
        let fd = if stdin.is_terminal() {
            stdin.as_fd().try_clone_to_owned()?
        } else {
            std::fs::File::open("/dev/tty")?.into()
        };
        Ok(Self { fd })
    }

    #[cfg(not(unix))]
    fn open() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits a moment for a key. The reader of events never returns from a terminal that has been
    /// closed, so it is asked only about one that is there and has something.
    #[cfg(unix)]
    fn look(&self) -> io::Result<Seen> {
        match wait(&self.fd)? {
            None => Ok(if event::poll(LOOK)? { Seen::Input } else { Seen::Nothing }),
            Some(Seen::Input) if !event::poll(Duration::ZERO)? => {
                // The beginning of a key's bytes.
                std::thread::sleep(LOOK / 10);
                Ok(Seen::Nothing)
            }
            Some(seen) => Ok(seen),
        }
    }

    #[cfg(not(unix))]
    fn look(&self) -> io::Result<Seen> {
        Ok(if event::poll(LOOK)? { Seen::Input } else { Seen::Nothing })
    }
}

/// Waits a moment for something at a terminal; `None` on systems that cannot wait for one.
#[cfg(unix)]
fn wait(terminal: &impl std::os::fd::AsFd) -> io::Result<Option<Seen>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(terminal, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Some(Seen::Nothing)),
        Err(error) => return Err(error.into()),
    }
    let found = fds.map(|fd| fd.revents()).into_iter().next().unwrap_or(PollFlags::empty());
    Ok(if found.contains(PollFlags::NVAL) {
        None
    } else if found.intersects(PollFlags::HUP | PollFlags::ERR) {
        Some(Seen::Gone)
    } else if found.contains(PollFlags::IN) {
        Some(Seen::Input)
    } else {
        Some(Seen::Nothing)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_commands() {
        let plain = |code| command(KeyEvent::new(code, KeyModifiers::NONE));
        let keys = ['q', 'h', 'l', 't', 'x', 'c'].map(|key| plain(KeyCode::Char(key)));
        let wanted = [Command::End, Command::SwitchRate, Command::SwitchLoss, Command::OneTcpMore];
        assert_eq!(keys.to_vec(), [wanted.map(Some).to_vec(), vec![None, None]].concat());
        assert_eq!(plain(KeyCode::Esc), Some(Command::End));
        let with_control = |key| command(KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL));
        assert_eq!((with_control('c'), with_control('h')), (Some(Command::End), None));
    }

    #[cfg(unix)]
    #[test]
    fn a_terminal_that_goes_away_is_seen() {
        use std::io::Write;
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        assert_eq!(wait(&reader).expect("waited"), Some(Seen::Nothing));
        writer.write_all(b"q").expect("written");
        assert_eq!(wait(&reader).expect("waited"), Some(Seen::Input));
        drop(writer);
        assert_eq!(wait(&reader).expect("waited"), Some(Seen::Gone));
    }

    #[test]
    fn the_release_of_a_key_is_no_command() {
        let key = KeyEvent { kind: KeyEventKind::Release, ..KeyEvent::from(KeyCode::Char('h')) };
        assert_eq!(command(key), None);
    }
}
