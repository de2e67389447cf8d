//! The attribute `#[kernel_test]` of `gpucast-test`, whose documentation describes it.
//!
//! It knows no word of a test: `"k.ptx", grid = 4` becomes `KernelTest::new("k.ptx").grid(4)`, and
//! the compiler says which words there are.

use std::mem;

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a test of a kernel: the kernel's file, then `word = value` for calls of `KernelTest`.
///
/// The function does on the CPU what the kernel is to do. One without a parameter says nothing of
/// results, and runs before the kernel.
#[proc_macro_attribute]
pub fn kernel_test(words: TokenStream, function: TokenStream) -> TokenStream {
    let is_fn = |token: &TokenTree| matches!(token, TokenTree::Ident(it) if it.to_string() == "fn");
    let attributes: Vec<TokenTree> =
        function.clone().into_iter().take_while(|token| !is_fn(token)).collect();
    let own: TokenStream = function.into_iter().skip(attributes.len()).collect();
    let mut parts = own.clone().into_iter().skip(1);
    let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(parameters))) =
        (parts.next(), parts.next())
    else {
        return code("::core::compile_error!(\"#[kernel_test] stands before a function\");");
    };
    let name = TokenTree::Ident(name);
    let mut body = own;
    if parameters.stream().is_empty() {
        body.extend([name.clone(), parenthesized(TokenStream::new())]);
        body.extend(code(";"));
        body.extend(calls(words));
    } else {
        body.extend(calls(words));
        body.extend(code(".expect"));
        body.extend([parenthesized(name.clone().into())]);
    }
    body.extend(code(".run();"));
    let mut test = code("#[::core::prelude::v1::test]");
    test.extend(attributes);
    test.extend([TokenTree::Ident(Ident::new("fn", Span::call_site())), name]);
    test.extend([parenthesized(TokenStream::new())]);
    test.extend([TokenTree::Group(Group::new(Delimiter::Brace, body))]);
    test
}

/// The calls that make a test. A comma ends a value if a word and `=` follow.
fn calls(words: TokenStream) -> TokenStream {
    let words: Vec<TokenTree> = words.into_iter().collect();
    let mut calls = code("::gpucast_test::KernelTest::new");
    let mut value = TokenStream::new();
    let mut rest = words.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        match after {
            [TokenTree::Ident(word), sign, behind @ ..]
                if is_sign(token, ',') && is_sign(sign, '=') =>
            {
                let dot = TokenTree::Punct(Punct::new('.', Spacing::Alone));
                let ended = parenthesized(mem::take(&mut value));
                calls.extend([ended, dot, TokenTree::Ident(word.clone())]);
                rest = behind;
            }
            _ => value.extend([token.clone()]),
        }
    }
    calls.extend([parenthesized(value)]);
    calls
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(it) if it.as_char() == sign)
}

fn parenthesized(tokens: TokenStream) -> TokenTree {
    TokenTree::Group(Group::new(Delimiter::Parenthesis, tokens))
}

/// Code of this crate's own, which can be read.
fn code(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
