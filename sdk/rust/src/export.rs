//! The macros that make a component of a crate. The `cfg` that tells the two builds apart is asked here and not in a macro's
//! body, where it would be asked of the connector's crate.

/// Makes a connector of actions: `oncegate_sdk::export!(CreateContact, FindContact);`, once, at the root of a crate of type
/// `cdylib`. All actions have the same `Settings`.
#[macro_export]
macro_rules! export {
    ($first:ty $(, $more:ty)* $(,)?) => {
        const _: () = {
            type Settings = <$first as $crate::Action>::Settings;

            /// Two types of settings in one connector do not compile.
            #[allow(dead_code)]
            fn same_settings<A: $crate::Action<Settings = Settings>>() {}
            $(const _: fn() = same_settings::<$more>;)*

            #[allow(dead_code)]
            struct OncegateConnector;

            impl $crate::raw::RawConnector for OncegateConnector {
                fn perform(call: $crate::raw::RawCall) -> Result<String, $crate::Failure> {
                    if call.action == <$first as $crate::Action>::NAME {
                        return $crate::raw::perform::<$first>(&call);
                    }
                    $(if call.action == <$more as $crate::Action>::NAME {
                        return $crate::raw::perform::<$more>(&call);
                    })*
                    Err($crate::raw::unknown_action(&call.action))
                }

                fn lookup(call: $crate::raw::RawCall, doubt: $crate::Doubt) -> $crate::Finding<String> {
                    if call.action == <$first as $crate::Action>::NAME {
                        return $crate::raw::lookup::<$first>(&call, &doubt);
                    }
                    $(if call.action == <$more as $crate::Action>::NAME {
                        return $crate::raw::lookup::<$more>(&call, &doubt);
                    })*
                    $crate::Finding::Unsure($crate::raw::unknown_action(&call.action).problem().message.clone())
                }

                fn describe() -> String {
                    $crate::raw::Description::of::<Settings>().action::<$first>()$(.action::<$more>())*.to_text()
                }
            }

            $crate::export_raw!(OncegateConnector);
        };
    };
}

/// Makes a connector of one type that is a [`crate::raw::RawConnector`].
#[cfg(all(target_family = "wasm", not(oncegate_describe)))]
#[macro_export]
macro_rules! export_raw {
    ($connector:ident) => {
        const _: () = {
            type Component = $crate::__private::component::Component<$connector>;
    $crate::bindings::__export_component!(Component with_types_in $crate::bindings);
        };
    };
}

/// Makes a core module that tells the schemas of one type that is a [`crate::raw::RawConnector`].
#[cfg(all(target_family = "wasm", oncegate_describe))]
#[macro_export]
macro_rules! export_raw {
    ($connector:ident) => {
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn oncegate_describe() -> u64 {
                $crate::__private::leak(<$connector as $crate::raw::RawConnector>::describe())
            }
        };
    };
}

/// Natively there is nothing to export; that the type fits is checked all the same.
#[cfg(not(target_family = "wasm"))]
#[macro_export]
macro_rules! export_raw {
    ($connector:ident) => {
        const _: () = {
            #[allow(dead_code)]
            fn fits<C: $crate::raw::RawConnector>() {}
            const _: fn() = fits::<$connector>;
        };
    };
}

/// Text for the host, as `ptr << 32 | len`. The instance ends after this call, so nobody frees it.
#[doc(hidden)]
pub fn leak(text: String) -> u64 {
    let text: &'static str = text.leak();
    let address = text.as_ptr().addr() as u64;
    address << 32 | text.len() as u64
}

/// From the words of the bindings to those of the SDK.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod component {
    use std::marker::PhantomData;

    use crate::bindings::exports::oncegate::connector::actions as wit;
    use crate::failure::{Effect, Failure, Finding, Matched, Problem};
    use crate::log;
    use crate::raw::{RawCall, RawConnector};

    pub struct Component<C>(PhantomData<C>);

    impl<C: RawConnector + 'static> wit::Guest for Component<C> {
        fn perform(call: wit::Call) -> Result<wit::Done, wit::Failure> {
            log_panics();
            C::perform(raw_call(call)).map(wit::Done::Completed).map_err(failure)
        }

        fn lookup(call: wit::Call, doubt: wit::Doubt) -> wit::Finding {
            log_panics();
            let doubt = crate::Doubt {
                first_sent_ms: doubt.first_sent_ms,
                status: doubt.status,
            };
            match C::lookup(raw_call(call), doubt) {
                Finding::Found(Effect {
                    output,
                    reference,
                    matched,
                }) => {
                    let matched = match matched {
                        Matched::Key => wit::Matched::Key,
                        Matched::Content => wit::Matched::Content,
                    };
                    wit::Finding::Found(wit::Effect {
                        output,
                        reference,
                        matched,
                    })
                }
                Finding::Absent => wit::Finding::Absent,
                Finding::Unsure(why) => wit::Finding::Unsure(why),
            }
        }
    }

    /// A panic becomes a trap, which says nothing; its words go to the log first.
    fn log_panics() {
        std::panic::set_hook(Box::new(|panic| log::error(&panic.to_string())));
    }

    fn raw_call(call: wit::Call) -> RawCall {
        let wit::Call {
            action,
            input,
            key,
            settings,
        } = call;
        RawCall {
            action,
            input,
            key,
            settings,
        }
    }

    fn failure(failure: Failure) -> wit::Failure {
        match failure {
            Failure::Rejected(it) => wit::Failure::Rejected(problem(it)),
            Failure::Unauthorized(it) => wit::Failure::Unauthorized(problem(it)),
            Failure::Temporary(it) => wit::Failure::Temporary(problem(it)),
            Failure::Unsure(it) => wit::Failure::Unsure(problem(it)),
        }
    }

    fn problem(problem: Problem) -> wit::Problem {
        let Problem {
            code,
            message,
            fields,
            retry_after_ms,
        } = problem;
        wit::Problem {
            code,
            message,
            fields,
            retry_after_ms,
        }
    }
}
