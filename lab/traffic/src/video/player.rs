//! The buffer of a player: start-up, playing and stalls.

/// State of playing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// State before the first picture.
    Starting,
    Playing,
    /// The buffer ran empty.
    Stalled,
    /// The whole video was shown.
    Ended,
}

/// Plays the video in the buffer.
#[derive(Debug, Clone)]
pub struct Player {
    threshold_us: u64,
    state: State,
    buffer_us: u64,
    at_us: u64,
    is_complete: bool,
    startup_us: u64,
    stalled_us: u64,
    stalls: u64,
    played_us: u64,
}

impl Player {
    /// A player started at `now_us`; it plays once `threshold_us` are in the buffer.
    pub fn new(threshold_us: u64, now_us: u64) -> Self {
        Self {
            threshold_us,
            state: State::Starting,
            buffer_us: 0,
            at_us: now_us,
            is_complete: false,
            startup_us: 0,
            stalled_us: 0,
            stalls: 0,
            played_us: 0,
        }
    }

    /// Plays until `now_us`.
    pub fn advance(&mut self, now_us: u64) {
        let elapsed_us = now_us.saturating_sub(self.at_us);
        self.at_us = self.at_us.max(now_us);
        match self.state {
            State::Starting => self.startup_us += elapsed_us,
            State::Stalled => self.stalled_us += elapsed_us,
            State::Ended => {}
            State::Playing => {
                let shown_us = elapsed_us.min(self.buffer_us);
                self.played_us += shown_us;
                self.buffer_us -= shown_us;
                if self.buffer_us == 0 && self.is_complete {
                    self.state = State::Ended;
                } else if elapsed_us > shown_us {
                    self.state = State::Stalled;
                    self.stalls += 1;
                    self.stalled_us += elapsed_us - shown_us;
                }
            }
        }
    }

    /// Adds a chunk of `chunk_us`, the last one if `is_last`.
    pub fn add(&mut self, chunk_us: u64, is_last: bool, now_us: u64) {
        self.advance(now_us);
        self.buffer_us += chunk_us;
        self.is_complete |= is_last;
        let enough = self.buffer_us >= self.threshold_us || self.is_complete;
        if enough && matches!(self.state, State::Starting | State::Stalled) {
            self.state = State::Playing;
        }
    }

    /// Playing time in the buffer.
    pub fn buffer_us(&self) -> u64 {
        self.buffer_us
    }

    /// Time until the first picture, or until now.
    pub fn startup_us(&self) -> u64 {
        self.startup_us
    }

    /// Time stalled after the first picture.
    pub fn stalled_us(&self) -> u64 {
        self.stalled_us
    }

    /// Number of stalls.
    pub fn stalls(&self) -> u64 {
        self.stalls
    }

    /// Video shown.
    pub fn played_us(&self) -> u64 {
        self.played_us
    }

    /// Whether it waits for video.
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, State::Starting | State::Stalled)
    }

    /// Whether the whole video was shown.
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// The time it has played to.
    pub fn at_us(&self) -> u64 {
        self.at_us
    }

    /// Time at which the buffer is empty without another chunk; `None` unless it plays.
    pub fn empty_at_us(&self) -> Option<u64> {
        (self.state == State::Playing).then(|| self.at_us + self.buffer_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    #[test]
    fn every_moment_is_start_up_play_or_stall() {
        let mut player = Player::new(4 * S, S);
        player.add(4 * S, false, 3 * S);
        assert_eq!((player.startup_us(), player.empty_at_us()), (2 * S, Some(7 * S)));
        player.advance(10 * S);
        assert_eq!((player.stalls(), player.stalled_us(), player.buffer_us()), (1, 3 * S, 0));
        player.add(4 * S, true, 12 * S);
        player.advance(20 * S);
        assert!(player.has_ended());
        assert_eq!((player.stalled_us(), player.played_us()), (5 * S, 8 * S));
        // 2 s of start-up, 8 s played, 5 s stalled, from 1 s to 16 s.
        assert_eq!(player.startup_us() + player.played_us() + player.stalled_us(), 15 * S);
    }

    #[test]
    fn a_buffer_that_empties_as_a_chunk_comes_is_no_stall() {
        let mut player = Player::new(S, 0);
        player.add(S, false, 0);
        player.add(S, false, S);
        player.advance(2 * S);
        assert_eq!((player.stalls(), player.played_us()), (0, 2 * S));
    }

    #[test]
    fn a_clock_that_jumps_back_changes_nothing() {
        let mut player = Player::new(S, 5 * S);
        player.add(2 * S, false, 6 * S);
        player.advance(3 * S);
        assert_eq!(player.buffer_us(), 2 * S);
    }
}
