//! API tokens.

use std::collections::BTreeSet;

use assisted_auth::users::LONGEST_LIFE;
use assisted_auth::{PersonRole, TokenResource, UserError};
use assisted_wire::id::ClusterId;
use assisted_wire::identity::{ApiToken, NewToken, Scope};
use jiff::SignedDuration;

use crate::World;

fn new(scope: Scope) -> NewToken {
    NewToken { name: "ci".to_owned(), expires_in: 60, scope }
}

#[tokio::test]
async fn a_token_opens_no_more_than_its_maker() {
    let (world, _) = World::with_admin().await;
    let (users, now) = (&world.users, world.now);
    world.add("ann", PersonRole::Editor).await;
    let ann = world.login("ann").await;
    let [one, other] = [ClusterId::random(), ClusterId::random()].map(TokenResource::Cluster);

    let admin = Scope { role: Some(PersonRole::Admin), resource: None };
    let refused = users.create_token(&ann, new(admin), now).await.unwrap_err();
    assert!(matches!(refused, UserError::Forbidden(text) if text.contains("higher role")), "{refused}");
    let made = users.create_token(&ann, new(Scope::default()), now).await.unwrap();
    let who = users.authenticate(made.token.unwrap().expose(), now).await.unwrap();
    assert_eq!(who.role, PersonRole::Editor);

    let scope = Scope { role: Some(PersonRole::Viewer), resource: Some(one) };
    let made = users.create_token(&ann, new(scope.clone()), now).await.unwrap();
    let token = made.token.unwrap();
    let who = users.authenticate(token.expose(), now).await.unwrap();
    let caller = who.caller(uuid::Uuid::nil());
    assert_eq!((who.role, caller.resource, caller.read_only), (PersonRole::Viewer, Some(one), true));
    // A limited token makes no wider one.
    assert_eq!(users.create_token(&who, new(Scope::default()), now).await.unwrap().scope, scope);
    let wider = Scope { role: Some(PersonRole::Editor), resource: None };
    assert!(matches!(users.create_token(&who, new(wider), now).await, Err(UserError::Forbidden(_))));
    let elsewhere = Scope { role: None, resource: Some(other) };
    assert!(matches!(users.create_token(&who, new(elsewhere), now).await, Err(UserError::Forbidden(_))));
    assert!(users.authenticate(token.expose(), now + SignedDuration::from_secs(60)).await.is_err());
}

#[tokio::test]
async fn a_token_makes_none_that_outlives_it_and_is_no_way_to_others() {
    let (world, _) = World::with_admin().await;
    let (users, now) = (&world.users, world.now);
    world.add("ann", PersonRole::Editor).await;
    let ann = world.login("ann").await;
    let wide = users.create_token(&ann, new(Scope::default()), now).await.unwrap();
    let one = TokenResource::Cluster(ClusterId::random());
    let limited = Scope { role: Some(PersonRole::Viewer), resource: Some(one) };
    let limited = users.create_token(&ann, new(limited), now).await.unwrap();
    let ids = |tokens: Vec<ApiToken>| tokens.into_iter().map(|token| token.id).collect::<BTreeSet<_>>();
    assert_eq!(ids(users.tokens(&ann, now).await.unwrap()), [wide.id, limited.id].into());

    let who = users.authenticate(limited.token.unwrap().expose(), now).await.unwrap();
    let longer = NewToken { expires_in: 61, ..new(Scope::default()) };
    let refused = users.create_token(&who, longer, now).await.unwrap_err();
    assert!(matches!(refused, UserError::Forbidden(text) if text.contains("outlives")), "{refused}");
    let made = users.create_token(&who, new(Scope::default()), now).await.unwrap();
    assert_eq!(ids(users.tokens(&who, now).await.unwrap()), [limited.id, made.id].into());
    assert!(matches!(users.revoke_token(&who, wide.id, now).await, Err(UserError::Missing(_))));
    // One of the same resource, for somebody who may do more there.
    let editor = Scope { role: None, resource: Some(one) };
    let editor = users.create_token(&ann, new(editor), now).await.unwrap();
    assert!(matches!(users.revoke_token(&who, editor.id, now).await, Err(UserError::Missing(_))));
    users.revoke_token(&who, made.id, now).await.unwrap();
    users.revoke_token(&ann, wide.id, now).await.unwrap();
}

#[tokio::test]
async fn tokens_are_listed_and_revoked() {
    let (world, _) = World::with_admin().await;
    let (users, now) = (&world.users, world.now);
    world.add("ann", PersonRole::Editor).await;
    world.add("bob", PersonRole::Editor).await;
    let (root, ann, bob) = (world.login("root").await, world.login("ann").await, world.login("bob").await);
    let made = users.create_token(&ann, new(Scope::default()), now).await.unwrap();
    let token = made.token.clone().unwrap();
    let listed = users.tokens(&ann, now).await.unwrap();
    assert_eq!((listed.len(), &listed[0].token, listed[0].id), (1, &None, made.id));
    assert_eq!(users.tokens(&root, now).await.unwrap()[0].user, "ann");
    assert!(users.tokens(&bob, now).await.unwrap().is_empty());
    assert!(matches!(users.revoke_token(&bob, made.id, now).await, Err(UserError::Missing(_))));
    users.revoke_token(&ann, made.id, now).await.unwrap();
    assert!(users.authenticate(token.expose(), now).await.is_err());

    for expires_in in [0, LONGEST_LIFE.as_secs() as u64 + 1, u64::MAX] {
        let refused = users.create_token(&ann, NewToken { expires_in, ..new(Scope::default()) }, now).await;
        assert!(matches!(refused, Err(UserError::Invalid(_))));
    }
    for n in 0..100 {
        users
            .create_token(&ann, NewToken { name: format!("t{n}"), ..new(Scope::default()) }, now)
            .await
            .unwrap();
    }
    assert!(matches!(users.create_token(&ann, new(Scope::default()), now).await, Err(UserError::Invalid(_))));
}
