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
#[derive(Debug)]
pub struct Workers(Option<pool::Pool>);

impl Workers {
    /// As many threads as this; 0 is one for each processor. Where there are no threads to be had
    /// the caller's does the work.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self(if threads == 1 { None } else { pool::new(threads.min(MOST_THREADS)) })
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or(1, pool::threads)
    }

    /// The results of all jobs, in their order.
    ///
    /// # Errors
    /// An error of one of the jobs.
    pub fn run<J: Sync, R: Send, E: Send>(
        &self,
        jobs: &[J],
        one: impl Fn(&J) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        match &self.0 {
            Some(pool) => pool::run(pool, jobs, one),
            None => jobs.iter().map(one).collect(),
        }
    }
}

#[cfg(feature = "host")]
mod pool {
    //! Threads of the host.

    pub(super) use rayon::ThreadPool as Pool;
    use rayon::prelude::*;

    pub(super) fn new(threads: usize) -> Option<Pool> {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()
    }

    pub(super) fn threads(pool: &Pool) -> usize {
        pool.current_num_threads()
    }

    pub(super) fn run<J: Sync, R: Send, E: Send>(
        pool: &Pool,
        jobs: &[J],
        one: impl Fn(&J) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        pool.install(|| jobs.par_iter().with_max_len(1).map(&one).collect())
    }
}

#[cfg(not(feature = "host"))]
mod pool {
    //! No threads.

    #[derive(Debug)]
    pub(super) enum Pool {}

    pub(super) fn new(_threads: usize) -> Option<Pool> {
        None
    }

    pub(super) fn threads(pool: &Pool) -> usize {
        match *pool {}
    }

    pub(super) fn run<J, R, E>(
        pool: &Pool,
        _jobs: &[J],
        _one: impl Fn(&J) -> Result<R, E>,
    ) -> Result<Vec<R>, E> {
        match *pool {}
    }
}

/// Does `count` jobs on as many threads as wanted, beginning them in their order: for jobs that
/// wait more than they compute.
#[cfg(feature = "host")]
pub fn in_order(threads: usize, count: usize, one: impl Fn(usize) + Sync) {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            one(number);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count).min(MOST_THREADS) {
            scope.spawn(work);
        }
        work();
    });
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
        let begun = std::sync::Mutex::new(Vec::new());
        in_order(1, 4, |number| begun.lock().expect("no panic").push(number));
        assert_eq!(*begun.lock().expect("no panic"), [0, 1, 2, 3]);
        in_order(3, 50, |number| begun.lock().expect("no panic").push(number));
        let mut all = begun.into_inner().expect("no panic").split_off(4);
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<usize>>());
        in_order(3, 0, |_| panic!("there is no job"));
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
