//! The terminal while a chart is shown, and its return in whatever way the run ends.

use std::io::{self, IsTerminal, Stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};

use super::{Model, chart};
use crate::visible::Lossy;

/// Set while the terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, in its alternate screen and without echo. Dropping this, a panic and [`restore`]
/// give it back as it was.
///
/// Its writer loses what cannot be written: a `Terminal` that is dropped shows the cursor again and
/// calls `eprintln!` if it cannot, as ratatui's own panic hook does.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Lossy<Stdout>>>,
}

impl Screen {
    /// Returns true if a chart can be shown: standard output and error are a terminal that moves
    /// its cursor. Standard input may be a pipe of data: keys are read from the terminal of the
    /// process then.
    #[must_use]
    pub fn is_possible() -> bool {
        let keys = || io::stdin().is_terminal() || std::fs::File::open("/dev/tty").is_ok();
        let terminals = io::stdout().is_terminal() && io::stderr().is_terminal() && keys();
        let term = std::env::var_os("TERM");
        terminals && term.is_some_and(|term| !term.is_empty() && term != "dumb")
    }

    /// Takes the terminal.
    ///
    /// # Errors
    /// When the terminal refuses.
    pub fn open() -> io::Result<Self> {
        TAKEN.store(true, Ordering::SeqCst);
        restore_before_a_panic_speaks();
        let taken = enable_raw_mode().and_then(|()| execute!(io::stdout(), EnterAlternateScreen));
        let opened = taken.and_then(|()| Terminal::new(CrosstermBackend::new(Lossy(io::stdout()))));
        opened.map(|terminal| Self { terminal }).inspect_err(|_| restore())
    }

    /// Draws a run, in the present size of the terminal.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn draw(&mut self, model: &Model) -> io::Result<()> {
        self.terminal.draw(|frame| chart::draw(model, frame.area(), frame.buffer_mut())).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Returns true while a chart is shown.
#[must_use]
pub fn is_shown() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

/// Has the words of a panic follow the chart instead of standing in it.
fn restore_before_a_panic_speaks() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let speak = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            speak(panic);
        }));
    });
}

/// Gives the terminal back if a chart is shown: for ends of the process that drop nothing.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing.
        let _ = ratatui::try_restore();
    }
}
