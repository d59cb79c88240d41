// completion.cpp — `ukemi completion`: what a shell offers after the tab key, out of the parser
// that reads the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "analysis/requests/shipped_scenarios.hpp"
#include "cli/command.hpp"
#include "cli/option_text.hpp"
#include "policies/registry.hpp"

namespace ukemi::cli {

namespace {

// What may follow: known words, beside which a shell offers files only where it finds none.
std::vector<std::string> words_for(const CLI::App& app, const OptionText& option) {
    if (!option.choices.empty()) return option.choices;
    std::vector<std::string> words;
    const std::string& name = option.names.back();
    if (name == "SCENARIO") {
        for (const analysis::ShippedScenario& one : analysis::shipped_scenarios())
            words.push_back(one.name);
    } else if (name == "COMMAND") {
        for (const CLI::App* one : app.get_subcommands({})) words.push_back(one->get_name());
    } else if (name == "--policies" || name == "--policy" || name == "--baseline") {
        for (const policies::PolicyEntry& one : policies::all_policies()) {
            words.emplace_back(one.name);
        }
    }
    return words;
}

// ---- bash --------------------------------------------------------------------------------------

void print_bash_command(const CLI::App& app, const CLI::App& command, std::string_view name) {
    std::vector<std::string> options;
    std::vector<std::string> arguments;
    for (const OptionText& option : option_texts(command)) {
        const std::vector<std::string> words = words_for(app, option);
        if (option.positional) {
            arguments.insert(arguments.end(), words.begin(), words.end());
            continue;
        }
        options.insert(options.end(), option.names.begin(), option.names.end());
        if (option.value.empty()) continue;
        std::vector<std::string> patterns;
        for (const std::string& one : option.names)
            patterns.push_back(fmt::format("{}:{}", name, one));
        fmt::print("        {}) words='{}' ;;\n", fmt::join(patterns, " | "),
                   fmt::join(words, " "));
    }
    fmt::print(
        "        {0}:*) case $current in\n            -*) words='{1}' ;;\n"
        "            *) words='{2}' ;;\n        esac ;;\n",
        name, fmt::join(options, " "), fmt::join(arguments, " "));
}

void print_bash(const CLI::App& app) {
    std::vector<std::string> commands;
    for (const CLI::App* one : app.get_subcommands({})) commands.push_back(one->get_name());
    fmt::print(R"(# Completion of ukemi in bash, written by `ukemi completion bash`.
_ukemi() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
    local word words='' command=''
    if [ "$current" = = ]; then
        current=''
    elif [ "$previous" = = ]; then
        previous=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
        case $word in {}) command=$word; break ;; esac
    done
    case $command:$previous in
        :--plugin) ;;
        :*) words='{} --help --version --plugin --allow-plugins' ;;
)",
               fmt::join(commands, " | "), fmt::join(commands, " "));
    for (const CLI::App* one : app.get_subcommands({}))
        print_bash_command(app, *one, one->get_name());
    fmt::print(R"(    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _ukemi ukemi
)");
}

// ---- zsh ---------------------------------------------------------------------------------------

// Within single quotes, where brackets, colons and backslashes mean something to _arguments.
std::string zsh(std::string_view text) {
    std::string escaped;
    for (const char one : text) {
        if (one == '\'') {
            escaped += "'\\''";
            continue;
        }
        if (one == '[' || one == ']' || one == ':' || one == '\\') escaped += '\\';
        escaped += one;
    }
    return escaped;
}

std::string zsh_value(const CLI::App& app, const OptionText& option) {
    const std::vector<std::string> words = words_for(app, option);
    const std::string& name = option.positional ? option.names.front() : option.value;
    if (words.empty()) return fmt::format(":{}:_files", zsh(name));
    if (!option.choices.empty()) return fmt::format(":{}:({})", zsh(name), fmt::join(words, " "));
    // The space: _arguments adds nothing to the words.
    return fmt::format(":{}: _ukemi_words {}", zsh(name), fmt::join(words, " "));
}

void print_zsh_options(const CLI::App& app, const CLI::App& command) {
    for (const OptionText& option : option_texts(command)) {
        if (option.positional) {
            fmt::print(" \\\n                '{}{}'", option.repeated ? "*" : "",
                       zsh_value(app, option));
            continue;
        }
        const std::string excluded =
            option.repeated ? "*" : fmt::format("({})", fmt::join(option.names, " "));
        for (const std::string& name : option.names) {
            const bool takes = !option.value.empty();
            fmt::print(" \\\n                '{}{}{}[{}]{}'", excluded, name,
                       !takes                   ? ""
                       : name.starts_with("--") ? "="
                                                : "+",
                       zsh(option.description), takes ? zsh_value(app, option) : "");
        }
    }
}

void print_zsh(const CLI::App& app) {
    fmt::print(
        "#compdef ukemi\n# Completion of ukemi in zsh, written by `ukemi completion zsh`.\n"
        "_ukemi_words() {{ compadd -- \"$@\"; _files }}\n_ukemi() {{\n    local context state "
        "line\n    typeset -A opt_args\n"
        "    local -a commands=(\n");
    for (const CLI::App* one : app.get_subcommands({})) {
        fmt::print("        '{}:{}'\n", one->get_name(), zsh(one->get_description()));
    }
    fmt::print("    )\n    _arguments -C");
    print_zsh_options(app, app);
    fmt::print(
        " \\\n        '1:command:->command' '*::argument:->argument'\n    case $state in\n"
        "        command) _describe command commands ;;\n        argument)\n"
        "            case $words[1] in\n");
    for (const CLI::App* one : app.get_subcommands({})) {
        fmt::print("            {}) _arguments", one->get_name());
        print_zsh_options(app, *one);
        fmt::print(" ;;\n");
    }
    fmt::print(
        "            esac ;;\n    esac\n}}\n"
        "if [ \"$funcstack[1]\" = _ukemi ]; then _ukemi \"$@\"; else compdef _ukemi ukemi; fi\n");
}

}  // namespace

void add_completion(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand(
        "completion", "a script with which a shell completes ukemi's commands and options");
    command->add_option("SHELL", *shell, "the shell")
        ->check(CLI::IsMember({"bash", "zsh"}))
        ->required();
    command->callback([&app, shell] {
        if (*shell == "bash") {
            print_bash(app);
        } else {
            print_zsh(app);
        }
    });
}

}  // namespace ukemi::cli
