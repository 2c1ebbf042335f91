/* Browsers allow no workers on pages opened from files, and the search is one: here it runs in a hidden frame. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.window = frame.contentWindow
      this.ready = new Promise((resolve) => {
        const inner = this.window.document
        this.window.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
        this.window.importScripts = (...addresses) =>
          Promise.all(addresses.map((each) => this.load(inner, each)))
        this.load(inner, address).then(resolve)
      })
    }
    load(inner, address) {
      return new Promise((resolve, reject) => {
        const script = inner.createElement("script")
        script.src = new URL(address, document.baseURI)
        script.onload = resolve
        script.onerror = reject
        inner.body.appendChild(script)
      })
    }
    postMessage(data) {
      this.ready.then(() => this.window.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.window.frameElement.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
