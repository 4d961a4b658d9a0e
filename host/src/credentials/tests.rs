use super::*;
use std::path::Path;

async fn check(name: &str, write: impl FnOnce(&Path)) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let secrets = folder.path().join("secrets");
    std::fs::create_dir(&secrets).unwrap();
    write(&secrets);
    let source = SecretSource::File(name.into());
    let reader = Secrets::new(secrets);
    // The first look is a thread's, the second is not.
    let read = [reader.read(&source).await, reader.read(&source).await].map(|read| {
        read.map(|secret| secret.expose().to_owned())
            .map_err(|error| error.to_string())
    });
    assert_eq!(read[0], read[1]);
    read[0].clone()
}

#[tokio::test]
async fn a_file_below_the_folder_is_read_without_its_line_end() {
    let read = check("crm", |secrets| {
        std::fs::write(secrets.join("crm"), "s3cret-token\r\n").unwrap()
    })
    .await;
    assert_eq!(read.as_deref(), Ok("s3cret-token"));
}

#[tokio::test]
async fn nothing_outside_the_folder_can_be_read() {
    let outside = |secrets: &Path| std::fs::write(secrets.join("../other"), "s3cret-token").unwrap();
    assert!(check("../other", outside).await.unwrap_err().contains("not below"));
    assert!(check("/etc/hostname", |_| {}).await.unwrap_err().contains("not below"));
    let link = |secrets: &Path| {
        std::fs::write(secrets.join("../other"), "s3cret-token").unwrap();
        std::os::unix::fs::symlink("../other", secrets.join("link")).unwrap();
    };
    assert!(check("link", link).await.unwrap_err().contains("not below"));
}

#[tokio::test]
async fn a_secret_has_a_length_that_can_be_masked() {
    let of = async |bytes: usize| {
        let write = |secrets: &Path| std::fs::write(secrets.join("s"), "x".repeat(bytes)).unwrap();
        check("s", write).await
    };
    assert!(of(SECRET_BYTES_MIN - 1).await.unwrap_err().contains("7 bytes"));
    assert!(of(SECRET_BYTES_MIN).await.is_ok());
    assert!(of(SECRET_BYTES_MAX).await.is_ok());
    for too_many in [1, 2, 3] {
        assert!(of(SECRET_BYTES_MAX + too_many).await.is_err());
    }
    let line = |secrets: &Path| std::fs::write(secrets.join("s"), "x".repeat(SECRET_BYTES_MAX) + "\r\n").unwrap();
    assert!(check("s", line).await.is_ok(), "the line end is not of it");
}

#[tokio::test]
async fn a_file_far_too_long_is_refused_before_it_is_read() {
    let huge = |secrets: &Path| {
        let file = std::fs::File::create(secrets.join("s")).unwrap();
        file.set_len(1 << 40).unwrap();
    };
    let error = check("s", huge).await.unwrap_err();
    assert!(error.contains("1099511627776 bytes"), "{error}");
}

#[tokio::test]
async fn only_a_regular_file_is_read() {
    let pipe = |secrets: &Path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, secrets.join("s"), mode).unwrap();
    };
    let socket = |secrets: &Path| drop(std::os::unix::net::UnixListener::bind(secrets.join("s")).unwrap());
    let folder = |secrets: &Path| std::fs::create_dir(secrets.join("s")).unwrap();
    for (error, kind) in [
        (check("s", pipe).await, "a pipe (FIFO)"),
        (check("s", socket).await, "a socket"),
        (check("s", folder).await, "a folder"),
    ] {
        assert!(error.as_ref().is_err_and(|error| error.contains(kind)), "{error:?}");
    }
}

#[tokio::test]
async fn a_secret_known_by_its_name_is_a_file_or_else_a_variable_and_a_bad_file_is_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let secrets = Secrets::new(folder.path().to_owned());
    let error = secrets.named("the-shop").await.unwrap_err();
    assert!(error.to_string().contains("ONCEGATE_SECRET_THE_SHOP"), "{error}");
    std::fs::create_dir(folder.path().join("the-shop")).unwrap();
    assert!(
        secrets
            .named("the-shop")
            .await
            .unwrap_err()
            .to_string()
            .contains("a folder")
    );
}

#[tokio::test]
async fn only_variables_of_our_own_can_be_named() {
    let secrets = Secrets::new(".".into());
    let read = async |name: &str| secrets.read(&SecretSource::Env(name.to_owned())).await;
    assert!(matches!(read("PATH").await, Err(CredentialError::ForbiddenVariable(_))));
    assert!(matches!(
        read("ONCEGATE_SECRET_NOT_SET").await,
        Err(CredentialError::NoVariable(_))
    ));
}

#[test]
fn a_secret_does_not_print_itself() {
    assert_eq!(format!("{:?}", Secret("s3cret-token".to_owned())), "Secret(hidden)");
}
