//! Workers that run independent tasks on all cores.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Progress of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Finished runs, those resumed included.
    pub finished: usize,
    /// All runs.
    pub total: usize,
}

/// Runs tasks in parallel.
#[derive(Clone, Copy)]
pub(super) struct Workers<'a> {
    /// Concurrent tasks; the number of cores if `None`.
    pub jobs: Option<NonZeroUsize>,
    /// Set to interrupt.
    pub stop: &'a AtomicBool,
    /// Called after each task.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Workers<'_> {
    /// The results in the order of the tasks; they do not depend on the number of jobs. `work` gets the
    /// number of a task and the task; it returns `None` if it was interrupted. A task that was not
    /// finished has no result.
    ///
    /// # Errors
    /// The error of the first failed task in their order; no further task is begun after a failure.
    pub(super) fn run<T: Sync, R: Send, E: Send>(
        &self,
        tasks: &[T],
        work: impl Fn(usize, &T) -> Result<Option<R>, E> + Sync,
    ) -> Result<Vec<Option<R>>, E> {
        let results = Mutex::new(tasks.iter().map(|_| None).collect::<Vec<Option<R>>>());
        let failed = Mutex::new(None::<(usize, E)>);
        let (next, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let worker = || {
            while !self.stop.load(Ordering::Relaxed) && lock(&failed).is_none() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(task) = tasks.get(number) else { return };
                match work(number, task) {
                    Ok(None) => return,
                    Ok(result) => {
                        lock(&results)[number] = result;
                        let finished = finished.fetch_add(1, Ordering::Relaxed) + 1;
                        (self.progress)(Progress { finished, total: tasks.len() });
                    }
                    Err(error) => {
                        let mut failed = lock(&failed);
                        if failed.as_ref().is_none_or(|(first, _)| number < *first) {
                            *failed = Some((number, error));
                        }
                    }
                }
            }
        };
        let jobs = self.jobs.or_else(|| std::thread::available_parallelism().ok());
        std::thread::scope(|scope| {
            for _ in 0..jobs.map_or(1, NonZeroUsize::get).min(tasks.len()) {
                scope.spawn(worker);
            }
        });
        match into_inner(failed) {
            Some((_, error)) => Err(error),
            None => Ok(into_inner(results)),
        }
    }
}

/// Results stay valid when a worker panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        jobs: usize,
        stop: &AtomicBool,
        work: impl Fn(usize) -> Result<Option<usize>, String> + Sync,
    ) -> Result<Vec<Option<usize>>, String> {
        let tasks: Vec<usize> = (0..20).collect();
        let workers = Workers { jobs: NonZeroUsize::new(jobs), stop, progress: &|_| {} };
        workers.run(&tasks, |_, task| work(*task))
    }

    #[test]
    fn results_are_in_the_order_of_the_tasks() {
        let stop = AtomicBool::new(false);
        for jobs in [1, 3, 64] {
            let squares = run(jobs, &stop, |task| Ok(Some(task * task))).unwrap();
            let expected: Vec<_> = (0..20).map(|task| Some(task * task)).collect();
            assert_eq!(squares, expected);
        }
    }

    #[test]
    fn the_error_of_the_first_failed_task_is_reported() {
        let stop = AtomicBool::new(false);
        let work = |task| if task < 5 { Ok(Some(task)) } else { Err(format!("task {task}")) };
        assert_eq!(run(1, &stop, work), Err("task 5".to_owned()));
    }

    #[test]
    fn a_stop_keeps_what_is_finished() {
        let stop = AtomicBool::new(false);
        let work = |task| {
            if task == 3 {
                stop.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            Ok(Some(task))
        };
        let results = run(1, &stop, work).unwrap();
        assert_eq!(results.iter().flatten().count(), 3);
    }
}
