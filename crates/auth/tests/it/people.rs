//! The first administrator, people, log-ins.

use assisted_auth::users::{SESSION_LIFE, SETUP_LIFE};
use assisted_auth::{PersonRole, UserError};
use assisted_wire::identity::{NewUser, UserChange};

use crate::{GOOD, HERE, World};

#[tokio::test]
async fn a_code_makes_the_first_administrator_once() {
    let world = World::new().await;
    let (users, now) = (&world.users, world.now);
    let old = users.setup_code(now).await.unwrap().unwrap();
    let code = users.setup_code(now).await.unwrap().unwrap();
    let late = now + SETUP_LIFE;
    for (code, at) in [(old.expose(), now), ("x", now), ("", now), (code.expose(), late)] {
        let refused = users.set_up(code, "root", GOOD.into(), HERE, at).await.unwrap_err();
        assert!(matches!(refused, UserError::Wrong(_)), "{refused}");
    }
    // What can't be does not use the code up.
    let short = users.set_up(code.expose(), "root", "short".into(), HERE, now).await.unwrap_err();
    assert!(matches!(short, UserError::Invalid(_)), "{short}");
    let login = users.set_up(code.expose(), "root", GOOD.into(), HERE, now).await.unwrap();
    assert_eq!(login.user.role, PersonRole::Admin);
    assert!(users.authenticate(login.token.expose(), now).await.unwrap().is_admin());
    let again = users.set_up(code.expose(), "eve", GOOD.into(), HERE, now).await.unwrap_err();
    assert!(matches!(again, UserError::Wrong(_)), "{again}");
    assert_eq!(users.setup_code(now).await.unwrap(), None);
}

#[tokio::test]
async fn a_session_is_good_until_it_ends() {
    let (world, _) = World::with_admin().await;
    let (users, now) = (&world.users, world.now);
    let login = users.login("root", GOOD.into(), HERE, now).await.unwrap();
    let token = login.token.expose();
    assert_eq!(users.authenticate(token, now).await.unwrap().user.name, "root");
    assert!(users.authenticate(token, now + SESSION_LIFE).await.is_err());
    let who = users.authenticate(token, now).await.unwrap();
    users.logout(&who).await.unwrap();
    assert!(users.authenticate(token, now).await.is_err());
    assert!(!format!("{login:?}").contains(token));
}

#[tokio::test]
async fn failed_logins_are_limited() {
    let (world, _) = World::with_admin().await;
    let (users, now) = (&world.users, world.now);
    for _ in 0..5 {
        let refused = users.login("root", "wrong password".into(), HERE, now).await.unwrap_err();
        assert!(matches!(refused, UserError::Wrong(_)), "{refused}");
    }
    // The right one, too: whoever guesses learns nothing any more.
    let refused = users.login("root", GOOD.into(), HERE, now).await.unwrap_err();
    assert!(matches!(refused, UserError::TooMany { wait } if wait.as_secs() == 900), "{refused}");
    let unknown = users.login("nobody", GOOD.into(), HERE, now).await.unwrap_err();
    assert_eq!(unknown.to_string(), "the user name or the password is wrong");
}

#[tokio::test]
async fn people_are_added_changed_and_removed() {
    let (world, _) = World::with_admin().await;
    let users = &world.users;
    world.add("ann", PersonRole::Editor).await;
    let new = |name: &str, password: &str| NewUser {
        name: name.to_owned(),
        password: password.into(),
        role: PersonRole::Viewer,
        organisation: String::new(),
        email: String::new(),
    };
    for (name, password) in
        [("", GOOD), ("a b", GOOD), ("a\n", GOOD), (&"x".repeat(129), GOOD), ("bob", "short")]
    {
        let refused = users.add(new(name, password), world.now).await.unwrap_err();
        assert!(matches!(refused, UserError::Invalid(_)), "{refused}");
    }
    assert!(matches!(users.add(new("ann", GOOD), world.now).await, Err(UserError::Taken(_))));
    let ann = world.login("ann").await;
    assert_eq!((ann.role, ann.user.organisation.as_str()), (PersonRole::Editor, "blue"));
    let caller = ann.caller(uuid::Uuid::nil());
    assert_eq!((caller.user_name.as_str(), caller.email_domain.as_str()), ("ann", "example.com"));

    // Whoever gets another role has to log in anew.
    let session = users.login("ann", GOOD.into(), HERE, world.now).await.unwrap().token;
    let change = UserChange { role: Some(PersonRole::Viewer), ..UserChange::default() };
    users.change("ann", change).await.unwrap();
    assert!(users.authenticate(session.expose(), world.now).await.is_err());
    assert!(world.login("ann").await.caller(uuid::Uuid::nil()).read_only);

    // Another password ends all sessions.
    let session = users.login("ann", GOOD.into(), HERE, world.now).await.unwrap().token;
    let change = UserChange { password: Some("another good one".into()), ..UserChange::default() };
    users.change("ann", change).await.unwrap();
    assert!(users.authenticate(session.expose(), world.now).await.is_err());
    assert!(!users.verify_password("ann", GOOD.into()).await.unwrap());
    let session = users.login("ann", "another good one".into(), HERE, world.now).await.unwrap().token;

    users.remove("ann").await.unwrap();
    assert!(users.authenticate(session.expose(), world.now).await.is_err());
    assert!(matches!(users.remove("ann").await, Err(UserError::Missing(_))));
    // Somebody has to be able to let others in.
    assert!(matches!(users.remove("root").await, Err(UserError::Forbidden(_))));
    let change = UserChange { role: Some(PersonRole::Editor), ..UserChange::default() };
    assert!(matches!(users.change("root", change).await, Err(UserError::Forbidden(_))));
    assert_eq!(users.list().await.unwrap().len(), 1);
}
