//! Many runs: on several threads, or a share of them on each of several machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every `of`-th run, from the `index`-th on, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// The number of this shard, from 1 to `of`.
    pub index: u32,
    /// The number of shards.
    pub of: u32,
}

impl Shard {
    /// All runs.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    /// The jobs of this shard among all jobs.
    pub fn share<T>(self, jobs: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        let (index, of) = (u64::from(self.index.max(1) - 1), u64::from(self.of.max(1)));
        jobs.zip(0u64..).filter(move |(_, number)| number % of == index).map(|(job, _)| job)
    }
}

/// Threads at most, however many are asked for: more than there are processors anywhere.
const MOST_THREADS: usize = 256;

/// Threads that runs are done on: the caller's alone without the feature `host`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workers(usize);

impl Workers {
    /// As many threads as this; 0 is one for each processor.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self(match threads {
            0 => processors(),
            wanted => wanted.min(MOST_THREADS),
        })
    }

    /// The number of threads.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.0
    }

    /// The results of all jobs, in their order, in which they are begun too. Where there are no
    /// threads to be had the caller's does the work.
    ///
    /// # Errors
    /// An error of one of the jobs, after which no other is begun.
    pub fn run<J: Sync, R: Send, E: Send>(
        &self,
        jobs: &[J],
        one: impl Fn(&J) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        #[cfg(feature = "host")]
        if self.0.min(jobs.len()) > 1 {
            return on_threads(self.0.min(jobs.len()), jobs, one);
        }
        jobs.iter().map(one).collect()
    }
}

#[cfg(feature = "host")]
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(not(feature = "host"))]
const fn processors() -> usize {
    1
}

#[cfg(feature = "host")]
fn on_threads<J: Sync, R: Send, E: Send>(
    threads: usize,
    jobs: &[J],
    one: impl Fn(&J) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut done = Vec::new();
        while !has_failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(number) else { break };
            let result = one(job);
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((number, result));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let new = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(new).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_all_jobs() {
        let share = |index, of| Shard { index, of }.share(0..7).collect::<Vec<u32>>();
        assert_eq!((share(1, 3), share(2, 3), share(3, 3)), (vec![0, 3, 6], vec![1, 4], vec![2, 5]));
        assert_eq!(share(1, 1).len(), 7);
    }

    #[test]
    #[cfg(feature = "host")]
    fn jobs_begin_in_order() {
        let jobs: Vec<usize> = (0..50).collect();
        for threads in [1, 3] {
            let begun = std::sync::atomic::AtomicUsize::new(0);
            let late = |job: &usize| {
                let before = begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                // Those before it have begun, but for the last of each thread.
                if before + threads > *job { Ok(()) } else { Err((before, *job)) }
            };
            assert_eq!(Workers::new(threads).run(&jobs, late).map(|all| all.len()), Ok(50));
        }
        assert_eq!(Workers::new(3).run(&[], |job: &u32| Err::<(), u32>(*job)), Ok(Vec::new()));
    }

    #[test]
    fn results_keep_their_order_whatever_the_threads() {
        let jobs: Vec<u32> = (0..100).collect();
        for threads in [1, 3] {
            let doubled = Workers::new(threads).run(&jobs, |job| Ok::<_, u32>(job * 2));
            assert_eq!(doubled, Ok((0..100).map(|job| job * 2).collect()));
            assert!(Workers::new(20_000).threads() <= 256);
            let failed = Workers::new(threads).run(&jobs, |job| if *job == 7 { Err(*job) } else { Ok(()) });
            assert_eq!(failed, Err(7));
        }
    }
}
