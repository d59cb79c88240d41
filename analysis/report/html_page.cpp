#include "analysis/report/html_page.hpp"

#include <algorithm>
#include <sstream>

#include "base/invariant.hpp"
#include "base/plain_text.hpp"

namespace ukemi::analysis {

namespace {

void append_text(pugi::xml_node parent, const std::string& text) {
    parent.append_child(pugi::node_pcdata).set_value(text.c_str());
}

void append_raw(pugi::xml_node parent, const char* name, std::string_view text) {
    INVARIANT(text.find_first_of("<>&") == std::string_view::npos);
    append_text(parent.append_child(name), std::string(text));
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

}  // namespace

pugi::xml_node add_element(pugi::xml_node parent, const char* name, std::string_view css_class) {
    pugi::xml_node element = parent.append_child(name);
    if (!css_class.empty()) add_page_attribute(element, "class", css_class);
    return element;
}

pugi::xml_node add_text_element(pugi::xml_node parent, const char* name, std::string_view text,
                                std::string_view css_class) {
    pugi::xml_node element = add_element(parent, name, css_class);
    add_page_text(element, text);
    return element;
}

void add_page_text(pugi::xml_node parent, std::string_view text) {
    append_text(parent, one_line(text));
}

void add_breakable_text(pugi::xml_node parent, std::string_view text) {
    const std::string line = one_line(text);
    for (std::size_t begin = 0; begin < line.size();) {
        const std::size_t end = std::min(line.find('+', begin), line.size() - 1) + 1;
        append_text(parent, line.substr(begin, end - begin));
        if (end < line.size()) parent.append_child("wbr");
        begin = end;
    }
}

void add_page_lines(pugi::xml_node parent, std::string_view text) {
    std::string lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        lines += one_line(line) + '\n';
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    append_text(parent, lines);
}

void add_page_attribute(pugi::xml_node element, const char* name, std::string_view value) {
    element.append_attribute(name).set_value(one_line(value).c_str());
}

pugi::xml_node begin_page(pugi::xml_document& page, std::string_view title, const char* style,
                          const char* script) {
    page.append_child(pugi::node_doctype).set_value("html");
    pugi::xml_node html = add_element(page, "html");
    add_page_attribute(html, "lang", "en");
    pugi::xml_node head = add_element(html, "head");
    add_page_attribute(add_element(head, "meta"), "charset", "utf-8");
    pugi::xml_node viewport = add_element(head, "meta");
    add_page_attribute(viewport, "name", "viewport");
    add_page_attribute(viewport, "content", "width=device-width, initial-scale=1");
    add_text_element(head, "title", title);
    append_raw(head, "style", style);
    append_raw(head, "script", script);
    return add_element(html, "body");
}

std::string text_of_page(const pugi::xml_document& page) {
    std::ostringstream stream;
    // An element that is closed where it begins is open to HTML, but for those that hold nothing.
    page.save(stream, "",
              pugi::format_raw | pugi::format_no_declaration | pugi::format_no_empty_element_tags);
    std::string text = std::move(stream).str();
    for (const std::string_view end : {"></meta>", "></wbr>"}) replace_all(text, end, "/>");
    // For people who read it, and for tools that do not like a line of a megabyte.
    for (const std::string_view end : {"</tr>", "</section>", "</figure>", "</head>", "</li>"}) {
        replace_all(text, end, std::string(end) + "\n");
    }
    return text + "\n";
}

}  // namespace ukemi::analysis
