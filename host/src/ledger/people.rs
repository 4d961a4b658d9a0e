//! The commands of people, and what describes the installation. Each is carried out alone, between the groups' others.

use super::save::Deactivate;
use super::*;

/// Commands of people.
impl Ledger {
    /// Decides about a step in review: compare-and-set on the item's version, else `Stale`. Where the owner of the run has
    /// ended it goes to this process's epoch, so that the executor may go on at once; an owner that lives keeps it. Returns
    /// the epoch of the owner.
    pub async fn decide(&self, decision: PersonDecision) -> Result<i64> {
        let input = (self.epoch(), decision);
        self.rare_with(input, |mut conn, input| {
            Box::pin(async move { decide::decide(&mut conn, input.0, &input.1).await })
        })
        .await
    }

    /// Decides about a conflicting event; returns the new run if there is one.
    pub async fn decide_conflict(&self, decision: ConflictDecision) -> Result<Option<Id>> {
        let input = (self.epoch(), decision);
        self.rare_with(input, |mut conn, input| {
            Box::pin(async move { decide::decide_conflict(&mut conn, input.0, &input.1).await })
        })
        .await
    }

    /// Cancels a run; open review items of steps that leave review are closed. Returns the epoch of the owner.
    pub async fn cancel(&self, cancel: Cancel) -> Result<i64> {
        let input = (self.epoch(), cancel);
        self.rare_with(input, |mut conn, input| {
            Box::pin(async move { decide::cancel(&mut conn, input.0, &input.1).await })
        })
        .await
    }

    /// Adds a line to the audit trail.
    pub async fn audit(&self, entry: AuditEntry) -> Result<()> {
        self.rare_with(entry, |mut conn, input| {
            Box::pin(async move { decide::audit(&mut conn, &input).await })
        })
        .await
    }

    /// Changes the installation as a whole: all of it, or, on an error or a crash, nothing.
    pub async fn save_installation(&self, change: InstallationChange) -> Result<()> {
        self.rare_with(change, |mut conn, input| {
            Box::pin(async move {
                save::installation(&mut conn, &input).await?;
                news::tell(&mut conn, News::Catalog).await
            })
        })
        .await
    }

    /// Stores a flow and makes it active; the same source and examples as now make no new revision. Returns the stable
    /// id and the revision.
    pub async fn save_flow(&self, flow: NewFlow) -> Result<(Id, u32)> {
        self.rare_with(flow, |mut conn, input| {
            Box::pin(async move {
                let saved = save::flow(&mut conn, &input).await?;
                news::tell(&mut conn, News::Catalog).await.map(|()| saved)
            })
        })
        .await
    }

    /// Stores a connector's bytes under their digest; known bytes change nothing.
    pub async fn save_connector(&self, connector: NewConnector) -> Result<()> {
        self.rare_with(connector, |mut conn, input| {
            Box::pin(async move { save::connector(&mut conn, &input).await })
        })
        .await
    }

    /// Stores a connection and makes it active; what equals the current revision makes no new one. Returns the revision.
    pub async fn save_connection(&self, connection: NewConnection) -> Result<u32> {
        self.rare_with(connection, |mut conn, input| {
            Box::pin(async move {
                let saved = save::connection(&mut conn, &input).await?;
                news::tell(&mut conn, News::Catalog).await.map(|()| saved)
            })
        })
        .await
    }

    /// The flow takes no more events. Its runs go on, its keys stay.
    pub async fn deactivate_flow(&self, name: &str, who: &str, at_ms: i64) -> Result<()> {
        let input = Deactivate {
            name: name.into(),
            who: who.into(),
            at_ms,
        };
        self.rare_with(input, |mut conn, input| {
            Box::pin(async move {
                save::deactivate_flow(&mut conn, &input).await?;
                news::tell(&mut conn, News::Catalog).await
            })
        })
        .await
    }

    /// The connection is not used any more.
    pub async fn deactivate_connection(&self, name: &str, who: &str, at_ms: i64) -> Result<()> {
        let input = Deactivate {
            name: name.into(),
            who: who.into(),
            at_ms,
        };
        self.rare_with(input, |mut conn, input| {
            Box::pin(async move {
                save::deactivate_connection(&mut conn, &input).await?;
                news::tell(&mut conn, News::Catalog).await
            })
        })
        .await
    }

    /// Stores a token's hash.
    pub async fn save_token(&self, token: NewToken) -> Result<Id> {
        self.rare_with(token, |mut conn, input| {
            Box::pin(async move { save::token(&mut conn, &input).await })
        })
        .await
    }

    /// Forgets a token.
    pub async fn revoke_token(&self, id: Id, who: &str, at_ms: i64) -> Result<()> {
        let input = (
            id,
            Deactivate {
                name: id.to_string(),
                who: who.into(),
                at_ms,
            },
        );
        self.rare_with(input, |mut conn, input| {
            Box::pin(async move { save::revoke_token(&mut conn, input.0, &input.1).await })
        })
        .await
    }
}
