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
        let thread = std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let command = match event::poll(LOOK) {
                    Ok(false) => continue,
                    Ok(true) => match event::read() {
                        Ok(Event::Key(key)) => command(key),
                        Ok(_) => None,
                        Err(_) => break,
                    },
                    Err(_) => break,
                };
                if command.is_some_and(|command| sender.send(command).is_err()) {
                    break;
                }
            }
        })?;
        Ok(Self { commands, ended, thread: Some(thread) })
    }

    /// Waits for the next command; for ever if no key can be read.
    pub async fn next(&mut self) -> Command {
        match self.commands.recv().await {
            Some(command) => command,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

/// Time within which the thread notices that nobody wants keys any more.
const LOOK: Duration = Duration::from_millis(50);

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

    #[test]
    fn the_release_of_a_key_is_no_command() {
        let key = KeyEvent { kind: KeyEventKind::Release, ..KeyEvent::from(KeyCode::Char('h')) };
        assert_eq!(command(key), None);
    }
}
