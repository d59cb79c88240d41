// man.cpp — `ukemi man`: a manual page of the program or of one command, out of the parser that
// reads the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "analysis/build_info.hpp"
#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "cli/option_text.hpp"

namespace ukemi::cli {

namespace {

// As roff prints it unchanged: no escapes, hyphens that can be searched and copied, and no line
// that begins as a request does.
std::string roff(std::string_view text) {
    std::string escaped;
    if (text.starts_with('.') || text.starts_with('\'')) escaped = "\\&";
    for (const char one : text) {
        if (one == '\\') {
            escaped += "\\e";
        } else if (one == '-') {
            escaped += "\\-";
        } else if (one == '\n') {
            escaped += ' ';
        } else {
            escaped += one;
        }
    }
    return escaped;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }

void print_options(const CLI::App& command, bool positional) {
    bool first = true;
    for (const OptionText& option : option_texts(command)) {
        if (option.positional != positional) continue;
        if (first) fmt::print(".SH {}\n", positional ? "ARGUMENTS" : "OPTIONS");
        first = false;
        std::vector<std::string> names;
        for (const std::string& name : option.names) names.push_back(bold(name));
        std::string value = option.choices.empty()
                                ? option.value
                                : fmt::format("{}", fmt::join(option.choices, "|"));
        if (positional && option.choices.empty()) value.clear();  // its name says it
        fmt::print(".TP\n{}{}{}\n{}\n", fmt::join(names, ", "),
                   value.empty() ? "" : " \\fI" + roff(value) + "\\fR",
                   option.repeated ? " ..." : "", roff(option.description));
    }
}

void print_title(const std::string& name, std::string_view description) {
    std::string upper = name;
    for (char& one : upper) {
        if (one >= 'a' && one <= 'z') one = static_cast<char>(one - 'a' + 'A');
    }
    fmt::print(".TH {} 1 \"\" \"ukemi {}\" \"ukemi manual\"\n.SH NAME\n{} \\- {}\n", roff(upper),
               analysis::build_version(), roff(name), roff(description));
}

void print_end(std::string_view see_also) {
    fmt::print(
        ".SH EXIT STATUS\n0 done, 1 the machine failed, 2 the input was wrong.\n"
        ".SH SEE ALSO\n{}\n",
        see_also);
}

void print_program(const CLI::App& app) {
    print_title("ukemi", app.get_description());
    fmt::print(".SH SYNOPSIS\n{} [OPTIONS] COMMAND ...\n", bold("ukemi"));
    print_options(app, false);
    fmt::print(".SH COMMANDS\n");
    std::vector<std::string> pages;
    for (const CLI::App* command : app.get_subcommands({})) {
        fmt::print(".TP\n{}\n{}\n", bold(command->get_name()), roff(command->get_description()));
        pages.push_back(bold("ukemi-" + command->get_name()) + "(1)");
    }
    print_end(fmt::format("{}", fmt::join(pages, ", ")));
}

void print_command(const CLI::App& command) {
    const std::string& name = command.get_name();
    print_title("ukemi-" + name, command.get_description());
    fmt::print(".SH SYNOPSIS\n{} [OPTIONS]", bold("ukemi " + name));
    for (const OptionText& option : option_texts(command)) {
        if (!option.positional) continue;
        fmt::print(" \\fI{}\\fR{}", roff(option.names.front()), option.repeated ? " ..." : "");
    }
    fmt::print("\n");
    print_options(command, true);
    print_options(command, false);
    fmt::print(".SH EXAMPLES\n");
    for (const CommandExamples& examples : command_examples()) {
        if (examples.command != name) continue;
        for (const std::string_view line : examples.lines) {
            fmt::print(".nf\n{}\n.fi\n", roff(line));
        }
    }
    print_end(bold("ukemi") + "(1)");
}

}  // namespace

void add_man(CLI::App& app) {
    auto name = std::make_shared<std::string>();
    CLI::App* command =
        app.add_subcommand("man", "the manual page of ukemi, or of one of its commands");
    command->add_option("COMMAND", *name, "the command whose page it is (default: the program's)");
    command->callback([&app, name] {
        if (name->empty()) return print_program(app);
        for (const CLI::App* one : app.get_subcommands({})) {
            if (one->get_name() == *name) return print_command(*one);
        }
        throw InputError("COMMAND", "", expected_command(app, *name));
    });
}

}  // namespace ukemi::cli
