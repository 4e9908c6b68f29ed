//! What large deletions take from a leaderboard while it is read.
//!
//! What they have taken from scores is kept in memory if it is little. If it is much, it is read
//! whenever it matters, a page at a time: the work grows with it, the memory does not.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use keyloom_value::KeyBytes;

use crate::taken::{Scores, Taken, TakenScore, TakenScores};
use crate::visible::{ReadState, Verdict};
use crate::{Error, Reader};

/// How many more entries one request reads if some are left out, at most.
const PAGE_LEFT_OUT: usize = 1_000;

/// What deletions take from a leaderboard that is being read.
pub(crate) struct BoardDeletions<'d> {
    reader: &'d Reader<'d>,
    pub(crate) state: &'d mut ReadState,
    /// The scores that they take from; none if the board ranks entities, which they take as a whole.
    scores: Option<Scores<'d>>,
    taken: Taken,
    /// A hash of everything that is taken when it was read first, if it is not kept.
    seen: Option<u64>,
    /// Whether rows were read before a deletion was known to have taken them.
    is_stale: bool,
}

impl<'d> BoardDeletions<'d> {
    /// Reads what is taken from scores.
    pub(crate) async fn read(
        reader: &'d Reader<'d>,
        scores: Option<Scores<'d>>,
        state: &'d mut ReadState,
    ) -> Result<BoardDeletions<'d>, Error> {
        let taken = find_taken(scores.as_ref(), state).await?;
        Ok(BoardDeletions { reader, state, scores, taken, seen: None, is_stale: false })
    }

    /// Whether nothing is taken from scores.
    pub(crate) fn is_nothing(&self) -> bool {
        self.taken.is_nothing()
    }

    /// Whether too much is taken from scores to be kept.
    pub(crate) fn is_much(&self) -> bool {
        self.taken == Taken::Many
    }

    /// How many more entries to read at once because some are left out.
    pub(crate) fn left_out_max(&self) -> usize {
        match &self.taken {
            Taken::Held(scores) => scores.len().min(PAGE_LEFT_OUT),
            Taken::Many => PAGE_LEFT_OUT,
        }
    }

    /// Whether one of these deletions has happened.
    pub(crate) async fn any_happened(&mut self, takers: &[String]) -> Result<bool, Error> {
        if takers.is_empty() {
            return Ok(false);
        }
        let named = takers.iter().cloned().collect();
        let verdict = self.state.learn(self.reader.rows(), named).await?;
        self.is_stale |= verdict == Verdict::ReadAgain;
        Ok(self.state.any_happened(takers))
    }

    /// Whether all that was read is of one moment, as far as deletions are concerned.
    pub(crate) async fn is_valid(&mut self) -> Result<bool, Error> {
        if self.reader.store.is_snapshot() {
            return Ok(true);
        }
        let verdict = self.state.confirm(self.reader.rows()).await?;
        if self.is_stale || verdict == Verdict::ReadAgain {
            return Ok(false);
        }
        match &self.taken {
            taken if taken.is_nothing() => Ok(true),
            Taken::Held(_) => {
                let again = find_taken(self.scores.as_ref(), self.state).await?;
                Ok(again == self.taken)
            }
            Taken::Many => {
                self.each(&mut |_| {}).await?;
                Ok(!self.is_stale)
            }
        }
    }

    /// Visits all scores from which something is taken. If they are not kept, they must be the same
    /// each time.
    pub(crate) async fn each(
        &mut self,
        visit: &mut (dyn FnMut(TakenScore) + Send),
    ) -> Result<(), Error> {
        if let Taken::Held(scores) = &self.taken {
            scores.iter().cloned().for_each(visit);
            return Ok(());
        }
        let Some(scores) = &self.scores else { return Ok(()) };
        let mut hasher = DefaultHasher::new();
        let mut hash = |key: &[u8], score: TakenScore| {
            (key, score.stored, score.left).hash(&mut hasher);
            visit(score);
            ControlFlow::Continue(())
        };
        scores.each_taken(self.state, &mut hash).await?;
        let seen = hasher.finish();
        self.is_stale |= *self.seen.get_or_insert(seen) != seen;
        Ok(())
    }

    /// Which of these values, given by their keys, have scores from which something is taken.
    pub(crate) async fn among(
        &mut self,
        mut values: BTreeSet<Vec<u8>>,
    ) -> Result<BTreeSet<Vec<u8>>, Error> {
        match (&self.taken, &self.scores) {
            (Taken::Held(taken), _) => {
                values.retain(|value| taken.has(value));
                Ok(values)
            }
            (Taken::Many, Some(scores)) => scores.taken_among(values, self.state).await,
            (Taken::Many, None) => Ok(BTreeSet::new()),
        }
    }

    /// What is left of the score of the value in an index key, if something is taken from it.
    pub(crate) async fn at(&mut self, position: &[u8]) -> Result<Option<TakenScore>, Error> {
        if let Taken::Held(taken) = &self.taken {
            return Ok(taken.at(position).cloned());
        }
        let (Some(scores), Ok(value)) = (&self.scores, KeyBytes::skip_part(position)) else {
            return Ok(None);
        };
        scores.taken_of(value, self.state).await
    }
}

/// Reads the scores from which deletions have taken something, with what is left of them.
async fn find_taken(scores: Option<&Scores<'_>>, state: &mut ReadState) -> Result<Taken, Error> {
    match scores {
        Some(scores) => scores.taken(state).await,
        None => Ok(Taken::Held(TakenScores::default())),
    }
}
