// Elements, made of text only: nothing that others wrote is ever read as HTML.

type Child = Node | string | null | undefined | false;

/** An element with properties (`class` and what has a `-` are attributes) and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K, props: Record<string, unknown> = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (key === "class" || key.includes("-") || key === "for" || key === "list") element.setAttribute(key, String(value));
    else (element as unknown as Record<string, unknown>)[key] = value;
  }
  element.append(...children.filter((child): child is Node | string => child instanceof Node || (typeof child === "string" && child !== "")));
  return element;
}

/** The element that this selector finds; it must be there. */
export function find<T extends Element>(selector: string, within: ParentNode = document): T {
  const element = within.querySelector<T>(selector);
  if (!element) throw new Error(`the page has no ${selector}`);
  return element;
}
